#pragma once

// Arrays of structs that kernels read, in device memory.

#include <algorithm>
#include <memory>
#include <vector>

#include "backend/gpu/gpu_device.h"
#include "kernels/cuda/optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

template <class T>
class DeviceTable {
 public:
  DeviceTable(const std::vector<T>& rows, GpuDevice& device, Stream& stream)
      : memory_(device.allocate(rows.size() * sizeof(T))), count_(static_cast<std::int64_t>(rows.size())) {
    for (const T& row : rows) longest_ = std::max(longest_, row.length);
    device.copy_to_device(memory_->data(), rows.data(), rows.size() * sizeof(T), stream);
  }
  kernel::Table<T> table() const { return {.rows = memory_->as<T>(), .count = count_, .longest = longest_}; }
  bool empty() const { return count_ == 0; }

 private:
  std::unique_ptr<Buffer> memory_;
  std::int64_t count_, longest_ = 0;
};

/// One segment per trainable weight tensor.
inline std::vector<kernel::Segment> trainable_of(const plan::Plan& plan) {
  std::vector<kernel::Segment> all;
  for (const plan::Parameter& p : plan.parameters)
    if (p.kind == plan::ParameterKind::kTrainable) all.push_back({.offset = p.offset, .length = p.elements()});
  return all;
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
