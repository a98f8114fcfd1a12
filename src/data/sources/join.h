#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/on_error.h"
#include "data/sources/dataset.h"

namespace dptrain::data {

/// `[{CSV: ...}, {Numpy: ...}]` or `{table: {CSV: ...}, image: {Numpy: ...}}`.
struct JoinParts {
  struct Part {
    std::string name;  ///< of its input that has none; "" in a list
    config::Of<dataset_family> set;
  };
  std::vector<Part> parts;
};

/// Data sets side by side (join.cpp): row i of all of them is sample i.
struct JoinSpec : DatasetCommon {
  JoinParts of;
  std::optional<std::string> labels;  ///< the part whose labels and sample weights count; none: those of all
};

/// Parts that have been opened, in order.
struct JoinedPart {
  std::string name;   ///< as JoinParts has it
  std::string place;  ///< in messages: "part 2 (CSV)"
  std::shared_ptr<const Source> source;
  std::string learned{};  ///< ModelSide::learned of the part when it was opened
};
/// The parts as one source. `labels` as JoinSpec has it. Throws Error{kUsage} where names clash or an input has none,
/// Error{kData} where sizes differ.
std::shared_ptr<const Source> join_sources(std::vector<JoinedPart> parts, const std::optional<std::string>& labels);

/// What the model of all parts is to one of them: its input of that name alone, where there is one.
ModelSide model_of_part(const ModelSide& model, const std::string& name);
/// What each of so many parts has learned, out of what a Join has; all "" where it has nothing. Throws
/// Error{kCheckpoint}.
std::vector<std::string> learned_of_parts(const std::string& learned, std::size_t parts);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::JoinParts> {
  static bool read(const Node&, Reader&, data::JoinParts& out);
  static Node write(const data::JoinParts&);
  static Node schema();
};
}  // namespace dptrain::config
