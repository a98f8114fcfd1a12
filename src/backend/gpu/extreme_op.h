#pragma once

// The largest or the smallest of inputs, extents of 1 spread: what Maximum and Minimum are.

#include <limits>

#include "backend/gpu/gpu_op.h"
#include "backend/gpu/masked_fill.h"
#include "backend/gpu/merge_shapes.h"
#include "backend/masked_inputs.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class ExtremeOp : public GpuOp {
 public:
  plan::Need need() const override { return {.saved = 0, .scratch = masked_.scratch()}; }

  void forward(const OpArgs& a) override {
    kernel::extreme_forward(at(a), type_, which_, merge_, inputs(a), a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    const void* const* const x = inputs(a);
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::extreme_backward(at(a), type_, merge_, i, x, a.out<void>(), a.dy<void>(), a.rows, dx);
  }

 protected:
  ExtremeOp(const OpContext& context, Device& device, kernel::Extreme which)
      : GpuOp(context, device),
        masked_(context, (which == kernel::Extreme::kLargest ? -1.0F : 1.0F) * std::numeric_limits<float>::infinity(),
                std::nullopt),
        merge_(merge_of(context)),
        which_(which) {}

 private:
  const void* const* inputs(const OpArgs& a) { return masked_.read(a, a.scratch, masked_fill(at(a), type_)).data(); }

  MaskedInputs masked_;
  kernel::Merge merge_;
  kernel::Extreme which_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
