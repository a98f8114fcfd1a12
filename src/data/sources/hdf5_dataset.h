#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/sources/dataset.h"

namespace dptrain::data {

/// `inputs:` one array, or {input name: array}.
struct NamedArrays {
  std::vector<std::pair<std::string, std::string>> arrays;  ///< name "" when one unnamed
};
/// Arrays of one HDF5 file, one row per sample (hdf5_dataset.cpp).
struct HDF5DatasetSpec : DatasetCommon {
  config::Path file;
  NamedArrays inputs;
  NamedArrays labels;  ///< or {output name: array}
  std::optional<std::string> sample_weight;
};

}  // namespace dptrain::data
