#include "nn/dropout.h"

#include "backend/device.h"
#include "core/random.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

/// The mask is a function of (seed, step of the plan, optimizer step, row of the global batch): nothing is kept.
class SpatialDropout2DOp final : public Op {
 public:
  SpatialDropout2DOp(const nn::SpatialDropout2DSpec& spec, const OpContext& context, Device&)
      : rate_(spec.rate),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()),
        channels_(context.output().back()),
        positions_(context.output().elements() / channels_),
        scratch_(static_cast<std::uint64_t>(context.rows * channels_) * sizeof(float)) {}

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override { drop(a, a.training, a.in(), a.out()); }
  void backward(const OpArgs& a) override { drop(a, true, a.dy(), a.dx()); }

 private:
  void drop(const OpArgs& a, bool training, const float* x, float* y) const {
    if (!training || rate_ <= 0) return kernels::cpu::copy({}, DType::kF32, x, y, a.rows * positions_ * channels_);
    const kernels::cpu::Dropout dropout{.rate = rate_,
                                        .seed = seed_,
                                        .layer = stream_,
                                        .step = static_cast<std::uint64_t>(a.step),
                                        .first_row = a.first_row};
    kernels::cpu::spatial_dropout(dropout, x, a.rows, positions_, channels_, static_cast<float*>(a.scratch), y);
  }

  float rate_;
  std::uint32_t seed_, stream_;
  std::int64_t channels_, positions_;
  std::uint64_t scratch_;
};

const RegisteredOp kCpuSpatialDropout2D = op<nn::SpatialDropout2DSpec, SpatialDropout2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
