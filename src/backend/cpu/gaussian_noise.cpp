#include "nn/dropout.h"

#include "backend/device.h"
#include "core/random.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/noise.h"

namespace dptrain::backend::cpu {
namespace {

/// The noise is a function of (seed, step of the plan, optimizer step, row of the global batch); backward does not need
/// it.
class GaussianNoiseOp final : public Op {
 public:
  GaussianNoiseOp(const nn::GaussianNoiseSpec& spec, const OpContext& context, Device&)
      : stddev_(spec.stddev),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kNoise) + context.stream()),
        width_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    if (!a.training || stddev_ <= 0) return kernels::cpu::copy({}, DType::kF32, a.in(), a.out(), a.rows * width_);
    const kernels::cpu::Noise noise{.stddev = stddev_,
                                    .seed = seed_,
                                    .layer = stream_,
                                    .step = static_cast<std::uint64_t>(a.step),
                                    .first_row = a.first_row};
    kernels::cpu::add_noise(noise, a.in(), a.rows, width_, a.out());
  }
  void backward(const OpArgs& a) override { kernels::cpu::copy({}, DType::kF32, a.dy(), a.dx(), a.rows * width_); }

 private:
  float stddev_;
  std::uint32_t seed_, stream_;
  std::int64_t width_;
};

const RegisteredOp kCpuGaussianNoise = op<nn::GaussianNoiseSpec, GaussianNoiseOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
