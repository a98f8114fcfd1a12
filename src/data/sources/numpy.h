#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/typed.h"
#include "data/sources/dataset.h"

namespace dptrain::data {

/// Arrays by name. A value that ends with ".npy" is a file, any other an array of the archive.
struct NumpyArrays {
  struct Entry {
    std::string name;   ///< "" when one unnamed
    std::string array;  ///< array in the archive; "": use `path`
    config::Path path;  ///< .npy file
  };
  std::vector<Entry> entries;
};

/// Arrays that NumPy has saved, one row per sample (numpy.cpp): .npy files, or the arrays of one .npz archive.
struct NumpySpec : DatasetCommon {
  std::optional<config::Path> file;  ///< the archive
  NumpyArrays inputs;
  NumpyArrays labels;  ///< or {output name: array}; may be empty
  NumpyArrays sample_weight;
};

/// Inputs of at most `max_bytes_in_memory` bytes in total are loaded at once, larger ones are read from disk row by
/// row. Inputs that the model reads as ids stay integers. Throws Error{kData}.
std::shared_ptr<const Source> open_numpy(const NumpySpec& spec, const ModelSide& model,
                                         std::uint64_t max_bytes_in_memory);
/// Inputs of `predict --input FILE.npy`: a source without labels.
std::shared_ptr<const Source> open_numpy_inputs(const std::string& path, const ModelSide& model);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::NumpyArrays> {
  static bool read(const Node&, Reader&, data::NumpyArrays& out);
  static Node write(const data::NumpyArrays&);
  static Node schema();
};
}  // namespace dptrain::config
