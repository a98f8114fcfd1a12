#pragma once

// IDX files as a Source, held in memory: u8 inputs as bytes, other types as f32 or ids, labels as classes (integers,
// one per item) or rows of floats. Immutable once constructed.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/typed.h"
#include "data/sources/dataset.h"
#include "data/sources/idx.h"

namespace dptrain::data {

/// `inputs:` one path, or {input name: path}.
struct NamedPaths {
  std::vector<std::pair<std::string, config::Path>> paths;  ///< name "" when one unnamed
};

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::NamedPaths> {
  static bool read(const Node&, Reader&, data::NamedPaths& out);
  static Node write(const data::NamedPaths&);
  static Node schema();
};
}  // namespace dptrain::config

namespace dptrain::data {

struct IDXSpec : DatasetCommon {
  NamedPaths inputs;
  NamedPaths labels;  ///< or {output name: path}
  std::optional<config::Path> sample_weight;
};

/// Files by name; "" if there is one unnamed file.
struct IdxFiles {
  std::vector<std::pair<std::string, IdxFile>> inputs{};
  std::vector<std::pair<std::string, IdxFile>> labels{};  ///< may be empty
  std::optional<IdxFile> sample_weight{};
};

/// Inputs that the model reads as ids stay integers. Throws Error{kData} if the numbers of items differ.
std::shared_ptr<const Source> make_idx_source(IdxFiles files, ClassNames class_names, const ModelSide& model = {});

std::shared_ptr<const Source> open_idx(const IDXSpec& spec, const ModelSide& model = {});
/// Inputs of `predict --input FILE.idx`: a source without labels.
std::shared_ptr<const Source> open_idx_inputs(const std::string& path, const ModelSide& model = {});

}  // namespace dptrain::data
