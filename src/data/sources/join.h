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
    std::string name;  ///< name of its unnamed input; "" in a list
    config::Of<dataset_family> set;
  };
  std::vector<Part> parts;
};

/// Combines the inputs and labels of several data sets: sample i is sample i of each part.
struct JoinSpec : DatasetCommon {
  JoinParts of;
  std::optional<std::string> labels;  ///< part that supplies labels and sample weights; absent: all parts
};

/// An opened part.
struct JoinedPart {
  std::string name;   ///< JoinParts::Part::name
  std::string place;  ///< in messages: "part 2 (CSV)"
  std::shared_ptr<const Source> source;
  std::string fitted_state{};  ///< ModelSide::fitted_state of the part when it was opened
};
/// Joins the parts; `labels`: see JoinSpec. Throws Error{kUsage} if names clash or an input has none, Error{kData} if
/// sizes differ.
std::shared_ptr<const Source> join_sources(std::vector<JoinedPart> parts, const std::optional<std::string>& labels);

/// `model` reduced to the input `name`, or unchanged if it has no such input.
ModelSide model_of_part(const ModelSide& model, const std::string& name);
/// Splits the `fitted_state` text of a Join by part; all "" if it is empty. Throws Error{kCheckpoint}.
std::vector<std::string> split_fitted_state(const std::string& fitted_state, std::size_t parts);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::JoinParts> {
  static bool read(const Node&, Reader&, data::JoinParts& out);
  static Node write(const data::JoinParts&);
  static Node schema();
};
}  // namespace dptrain::config
