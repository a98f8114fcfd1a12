#pragma once

// The largest or the smallest of inputs, extents of 1 spread: what Maximum and Minimum are.

#include "device/gpu/gpu_op.h"
#include "device/gpu/merge_shapes.h"

namespace dptrain::device::DPTRAIN_GPU {

class ExtremeOp : public GpuOp {
 public:
  void forward(const OpArgs& a) override {
    kernel::extreme_forward(at(a), type_, which_, merge_, a.inputs.data(), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::extreme_backward(at(a), type_, merge_, i, a.inputs.data(), a.out<void>(), a.dy<void>(), a.rows, dx);
  }

 protected:
  ExtremeOp(const OpContext& context, Device& device, kernel::Extreme which)
      : GpuOp(context, device), merge_(merge_of(context)), which_(which) {}

 private:
  kernel::Merge merge_;
  kernel::Extreme which_;
};

}  // namespace dptrain::device::DPTRAIN_GPU
