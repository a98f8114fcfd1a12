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
  std::string name;  ///< with the groups that it stands in
  std::int64_t rows = 0;
  Shape row;  ///< as a sample of it; [1] of single numbers
  bool integers = false, bytes = false;
};
/// Those with at least one row, in the order of their names. Any thread. Throws Error{kData} for a file that is no
/// HDF5.
std::vector<ArrayInFile> hdf5_arrays(const std::string& file);

}  // namespace dptrain::data
