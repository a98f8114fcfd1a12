#pragma once

// A float array of a file of whichever format; its values stay in the file until they are asked for. Cheap to copy.

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/hdf5/hdf5_reader.h"
#include "checkpoint/safetensors/safetensors.h"

namespace dptrain::checkpoint {

class StoredArray {
 public:
  StoredArray(Hdf5Dataset dataset) : of_(std::move(dataset)) {}   // NOLINT(google-explicit-constructor)
  StoredArray(SafetensorsArray array) : of_(std::move(array)) {}  // NOLINT(google-explicit-constructor)

  Shape shape() const {
    return std::visit([](const auto& of) { return Shape(of.shape()); }, of_);
  }
  std::uint64_t elements() const {
    return std::visit([](const auto& of) { return of.elements(); }, of_);
  }
  /// Keras's quantized weights; a .safetensors file with them is refused when it is opened.
  bool is_int8() const {
    const auto* const dataset = std::get_if<Hdf5Dataset>(&of_);
    return dataset != nullptr && dataset->is_int8();
  }
  /// Throws Error{kCheckpoint} for what is damaged.
  std::vector<float> floats() const {
    return std::visit([](const auto& of) { return of.floats(); }, of_);
  }

 private:
  std::variant<Hdf5Dataset, SafetensorsArray> of_;
};

}  // namespace dptrain::checkpoint
