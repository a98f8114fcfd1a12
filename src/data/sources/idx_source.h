#pragma once

// IDX files as a Source: everything in memory, images as the bytes they are in the file (other element types as f32),
// labels as classes (integers, one per item) or as rows of floats. Immutable once made.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/source.h"
#include "data/sources/idx.h"

namespace dptrain::data {

/// Files by name; "" for the only, unnamed one.
struct IdxFiles {
  std::vector<std::pair<std::string, IdxFile>> inputs{};
  std::vector<std::pair<std::string, IdxFile>> labels{};  ///< may be empty
  std::optional<IdxFile> sample_weight{};
};

/// `class_names` may be empty. Throws Error{kData} when the files do not fit together.
std::shared_ptr<const Source> make_idx_source(IdxFiles files, std::vector<std::string> class_names);

/// Opens the files of a spec.
std::shared_ptr<const Source> open_idx(const IDXSpec& spec);

}  // namespace dptrain::data
