#pragma once

// What every op of the GPU device starts from: its device and the type of its activations.

#include <algorithm>

#include "backend/gpu/gpu_device.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class GpuOp : public Op {
 protected:
  GpuOp(const OpContext& context, Device& device)
      : device_(static_cast<GpuDevice&>(device)), type_(context.plan.compute) {}

  kernel::Launch at(const OpArgs& a) const { return device_.launch(*a.stream); }

  /// n activations, at least one. A number of 16 bits behind the last whole float becomes what the first is.
  void set_to_zero(const OpArgs& a, void* x, std::int64_t n) const {
    const std::int64_t size = static_cast<std::int64_t>(size_of(type_)), floats = size * n / 4;
    device_.fill(static_cast<float*>(x), std::max<std::int64_t>(1, floats), 0, *a.stream);
    if (floats > 0) kernel::copy(at(a), type_, x, static_cast<std::byte*>(x) + size * (n - 1), 1);
  }

  GpuDevice& device_;
  DType type_;  // of activations
};

/// Samples' innermost extent, what softmax goes over; 1 for a scalar.
inline std::int64_t width_of(const Shape& shape) { return shape.rank() > 0 ? shape.back() : 1; }

}  // namespace dptrain::backend::DPTRAIN_BACKEND
