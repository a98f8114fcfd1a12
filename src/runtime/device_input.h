#pragma once

// DeviceInput: makes batches of a data set on the device by running the transforms as a program (backend/pixel_pass.h).
// The samples are copied to device memory once, or arrive unconverted with each batch. Bytes are a quarter of the size
// of the floats that the loader would make. Owned by a DeviceBatches, used on its thread and its stream.

#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/pixel_pass.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

class DeviceInput {
 public:
  /// For batches of up to `rows` rows in `sets` sets of buffers. Waits until resident samples are copied. `is_used`:
  /// per input of the model, whether to make it.
  DeviceInput(DType compute, backend::Device& device, backend::Stream& stream, const DeviceDataset& dataset,
              std::int64_t rows, int sets, const std::vector<bool>& is_used);

  /// Queues the work that makes `outputs` from the slice. `outputs`: one per input of the model, null if it is not
  /// made.
  void make(const BatchView& slice, int set, const std::vector<void*>& outputs);

  std::size_t bytes() const;

 private:
  struct Input {
    std::size_t row_bytes = 0;
    std::unique_ptr<backend::Buffer> resident;
    std::vector<std::unique_ptr<backend::Buffer>> arriving;  ///< one per set; empty if the samples are resident
    std::unique_ptr<backend::PixelPass> pass;                ///< null: this input is not made
  };

  void upload(const DeviceDataset::Input& from, std::int64_t samples, Input& to);

  backend::Device& device_;
  backend::Stream& stream_;
  std::vector<Input> inputs_;
  std::vector<std::unique_ptr<backend::Buffer>> samples_;  ///< one per set: the indices of a batch's samples
};

}  // namespace dptrain::runtime
