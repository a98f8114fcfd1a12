#pragma once

// What every op of the GPU device starts from: its device and the type of its activations.

#include "device/gpu/gpu_device.h"

namespace dptrain::device::DPTRAIN_GPU {

class GpuOp : public Op {
 protected:
  GpuOp(const OpContext& context, Device& device)
      : device_(static_cast<GpuDevice&>(device)), type_(context.plan.compute) {}

  kernel::Launch at(const OpArgs& a) const { return device_.launch(*a.stream); }

  GpuDevice& device_;
  DType type_;  // of activations
};

/// Samples' innermost extent, what softmax goes over; 1 for a scalar.
inline std::int64_t width_of(const Shape& shape) { return shape.rank() > 0 ? shape.back() : 1; }

}  // namespace dptrain::device::DPTRAIN_GPU
