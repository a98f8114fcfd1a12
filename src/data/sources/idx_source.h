#pragma once

// IDX files as a Source: everything in memory, images as the bytes they are in the file (other element types as f32),
// labels as classes (integers, one per item) or as rows of floats. Immutable once made.

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

/// Files by name; "" for the only, unnamed one.
struct IdxFiles {
  std::vector<std::pair<std::string, IdxFile>> inputs{};
  std::vector<std::pair<std::string, IdxFile>> labels{};  ///< may be empty
  std::optional<IdxFile> sample_weight{};
};

/// `class_names` may be empty. Inputs that the model reads as ids stay integers. Throws Error{kData} when the files do
/// not fit together.
std::shared_ptr<const Source> make_idx_source(IdxFiles files, ClassNames class_names, const ModelSide& model = {});

/// Opens the files of a spec.
std::shared_ptr<const Source> open_idx(const IDXSpec& spec, const ModelSide& model = {});
/// Inputs of `predict --input FILE.idx`: a source without labels.
std::shared_ptr<const Source> open_idx_inputs(const std::string& path, const ModelSide& model = {});

}  // namespace dptrain::data
