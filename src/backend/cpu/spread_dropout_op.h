#pragma once

// What Dropout and StochasticDepth are: dropout of every element, or of what numbers spread over a sample stand for.

#include <optional>

#include "backend/device.h"
#include "core/random.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {

/// The mask is a function of (seed, step of the plan, optimizer step, row of the global batch): nothing is kept.
class SpreadDropoutOp : public Op {
 public:
  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override { drop(a, a.training, a.in(), a.out()); }
  void backward(const OpArgs& a) override { drop(a, true, a.dy(), a.dx()); }

 protected:
  /// Without `spread` every element draws.
  SpreadDropoutOp(float rate, std::optional<kernels::SpreadAxes> spread, const OpContext& context)
      : rate_(rate),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()),
        width_(context.output().elements()),
        spread_(spread),
        scratch_(spread ? static_cast<std::uint64_t>(context.rows * spread->numbers) * sizeof(float) : 0) {}

 private:
  void drop(const OpArgs& a, bool training, const float* x, float* y) const {
    if (!training || rate_ <= 0)
      kernels::cpu::copy({}, DType::kF32, x, y, a.rows * width_);
    else if (spread_)
      kernels::cpu::spread_dropout(of(a), *spread_, x, a.rows, static_cast<float*>(a.scratch), y);
    else
      kernels::cpu::dropout_forward(of(a), x, a.rows, width_, y);
  }

  kernels::cpu::Dropout of(const OpArgs& a) const {
    return {.rate = rate_,
            .seed = seed_,
            .layer = stream_,
            .step = static_cast<std::uint64_t>(a.step),
            .first_row = a.first_row};
  }

  float rate_;
  std::uint32_t seed_, stream_;
  std::int64_t width_;
  std::optional<kernels::SpreadAxes> spread_;
  std::uint64_t scratch_;
};

}  // namespace dptrain::backend::cpu
