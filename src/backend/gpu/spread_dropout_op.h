#pragma once

// What Dropout and StochasticDepth are: dropout of every element, or of what numbers spread over a sample stand for.

#include <optional>

#include "backend/gpu/gpu_op.h"
#include "core/random.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

/// The mask is a function of (seed, step of the plan, optimizer step, row of the global batch): nothing is kept. The
/// optimizer step is read from OpArgs::state, so that a recorded step draws anew.
class SpreadDropoutOp : public GpuOp {
 public:
  void forward(const OpArgs& a) override { drop(a, a.training, a.inputs[0], a.out<void>()); }
  void backward(const OpArgs& a) override { drop(a, true, a.dy<void>(), a.input_gradients[0]); }

 protected:
  /// Without `spread` every element draws.
  SpreadDropoutOp(float rate, std::optional<kernels::SpreadAxes> spread, const OpContext& context, Device& device)
      : GpuOp(context, device),
        rate_(rate),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()),
        width_(context.output().elements()),
        spread_(spread) {}

 private:
  void drop(const OpArgs& a, bool training, const void* x, void* y) const {
    if (!training || rate_ <= 0) return kernel::copy(at(a), type_, x, y, a.rows * width_);
    const kernel::Dropout dropout{.rate = rate_, .seed = seed_, .layer = stream_, .first_row = a.first_row};
    if (spread_) return kernel::spread_dropout(at(a), type_, dropout, *spread_, a.state, x, a.rows, y);
    kernel::dropout(at(a), type_, dropout, a.state, x, a.rows, width_, y);
  }

  float rate_;
  std::uint32_t seed_, stream_;
  std::int64_t width_;
  std::optional<kernels::SpreadAxes> spread_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
