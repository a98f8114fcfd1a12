#include "nn/dropout.h"

#include "backend/device.h"
#include "core/random.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/noise.h"

namespace dptrain::backend::cpu {
namespace {

/// The noise is a function of (seed, step of the plan, optimizer step, row of the global batch): nothing is kept.
class GaussianDropoutOp final : public Op {
 public:
  GaussianDropoutOp(const nn::GaussianDropoutSpec& spec, const OpContext& context, Device&)
      : stddev_(nn::deviation(spec)),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kNoise) + context.stream()),
        width_(context.output().elements()) {}

  void forward(const OpArgs& a) override { drop(a, a.training, a.in(), a.out()); }
  void backward(const OpArgs& a) override { drop(a, true, a.dy(), a.dx()); }

 private:
  void drop(const OpArgs& a, bool training, const float* x, float* y) const {
    if (!training || stddev_ <= 0) return kernels::cpu::copy({}, DType::kF32, x, y, a.rows * width_);
    const kernels::cpu::Noise noise{.stddev = stddev_,
                                    .seed = seed_,
                                    .layer = stream_,
                                    .step = static_cast<std::uint64_t>(a.step),
                                    .first_row = a.first_row};
    kernels::cpu::multiply_noise(noise, x, a.rows, width_, y);
  }

  float stddev_;
  std::uint32_t seed_, stream_;
  std::int64_t width_;
};

const RegisteredOp kCpuGaussianDropout = op<nn::GaussianDropoutSpec, GaussianDropoutOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
