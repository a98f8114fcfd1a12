#pragma once

// DeviceInput: a data set whose batches a device makes itself, by the transforms as a program (backend/pixel_pass.h).
// Its samples lie in the device's memory, copied there once, or come batch by batch as the data set has them: bytes are
// a quarter of the floats that the loader would make of them. Owned by a Staging, used on its thread and its stream.

#include <functional>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/pixel_pass.h"
#include "replica/replica.h"

namespace dptrain::replica {

class DeviceInput {
 public:
  /// For batches of up to `rows` rows in `sets` sets of buffers. Waits until samples that stay are there. `wanted`: per
  /// input of the model; the others are left alone.
  DeviceInput(DType compute, backend::Device& device, backend::Stream& stream, const Feed& feed, std::int64_t rows,
              int sets, const std::vector<bool>& wanted);

  /// Queues everything that makes `outputs`, one for each input of the model that is wanted, from the slice.
  void make(const BatchRows& slice, int set, const std::vector<void*>& outputs);

  std::size_t bytes() const;

 private:
  struct Input {
    std::size_t row_bytes = 0;
    std::unique_ptr<backend::Buffer> resident;
    std::vector<std::unique_ptr<backend::Buffer>> arriving;  ///< per set, where nothing is resident
    std::unique_ptr<backend::PixelPass> pass;                ///< null: not wanted
  };

  void upload(const Feed::Input& from, std::int64_t samples, Input& to);

  backend::Device& device_;
  backend::Stream& stream_;
  std::vector<Input> inputs_;
  std::vector<std::unique_ptr<backend::Buffer>> samples_;  ///< per set, the numbers of a batch's samples
};

}  // namespace dptrain::replica
