#pragma once

// Reads safetensors files: eight bytes with the length of a header, the header (JSON: dtype, shape and offsets of each
// tensor, and texts in `__metadata__`), the data. Files are untrusted: the reader first checks the header's length and
// depth, and every dtype and shape. Tensors must cover the data without gaps and overlaps, as the format requires.
// Values are cheap to copy and keep the file open; any thread. All errors are Error{kCheckpoint} and name the file.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/files.h"
#include "core/shape.h"

namespace dptrain::formats {

struct StoredLayers;

/// One tensor. floats() reads its values from the file.
class SafetensorsArray {
 public:
  SafetensorsArray(std::shared_ptr<const FileBytes> file, DType dtype, Shape shape, std::uint64_t offset)
      : file_(std::move(file)), dtype_(dtype), shape_(std::move(shape)), offset_(offset) {}

  const Shape& shape() const noexcept { return shape_; }
  std::uint64_t elements() const noexcept { return static_cast<std::uint64_t>(shape_.elements()); }
  std::vector<float> floats() const;

 private:
  std::shared_ptr<const FileBytes> file_;
  DType dtype_;
  Shape shape_;
  std::uint64_t offset_;  ///< in the file
};

struct Safetensors {
  struct Tensor {
    std::string name;
    SafetensorsArray array;
  };
  std::vector<Tensor> tensors;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Whether the file begins like a safetensors file.
bool is_safetensors(const FileBytes& file);
Safetensors read_safetensors(const std::shared_ptr<const FileBytes>& file);

/// The layers of the file: "conv1/kernel" is the kernel of conv1, "layer1.0.conv.weight" the weight of "layer1.0.conv".
/// The weights' names determine their order in a layer, which is Keras's.
StoredLayers layers_of(const Safetensors& file);

}  // namespace dptrain::formats
