#pragma once

#include <memory>
#include <vector>

#include "backend/device.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// A copy of the values in the device's memory, for ops that read constants of their plan or spec.
inline std::unique_ptr<Buffer> upload(const std::vector<float>& values, Device& device) {
  const std::size_t bytes = values.size() * sizeof(float);
  auto memory = device.allocate(bytes);
  const auto stream = device.make_stream();
  device.copy_to_device(memory->data(), values.data(), bytes, *stream);
  stream->synchronize();
  return memory;
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
