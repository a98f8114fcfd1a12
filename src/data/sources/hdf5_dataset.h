#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/shape.h"
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

/// An array of integers or floats in a file.
struct ArrayInFile {
  std::string name;  ///< path with its groups
  std::int64_t rows = 0;
  Shape row;  ///< shape of one sample; [1] for single numbers
  bool integers = false, bytes = false;
};
/// All arrays with at least one row, sorted by name. Any thread. Throws Error{kData} if the file is not HDF5.
std::vector<ArrayInFile> hdf5_arrays(const std::string& file);

}  // namespace dptrain::data
