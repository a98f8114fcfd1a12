#pragma once

// Reads safetensors files: eight bytes with the length of a header, the header (JSON: dtype, shape and place of each
// tensor, and texts in `__metadata__`), the data. The file may come from anybody: before anything is read, the header's
// length and depth, every dtype, shape and place are checked, and that the tensors cover the data without a gap and
// without an overlap, as the format demands. Values are cheap to copy and keep the file open; any thread. All errors
// are Error{kCheckpoint} and name the file.

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

/// One tensor; its values stay in the file until they are asked for.
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

/// Whether the file begins as one does.
bool is_safetensors(const FileBytes& file);
Safetensors read_safetensors(const std::shared_ptr<const FileBytes>& file);

/// The layers of the file: "conv1/kernel" is the kernel of conv1, "layer1.0.conv.weight" the weight of "layer1.0.conv".
/// Weights of a layer in Keras's order, whatever the order in the file: the names say it.
StoredLayers layers_of(const Safetensors& file);

}  // namespace dptrain::formats
