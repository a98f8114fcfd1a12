#include "nn/dropout.h"

#include "backend/gpu/gpu_op.h"
#include "core/random.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/noise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// The noise is a function of (seed, step of the plan, optimizer step, row of the global batch); backward does not need
/// it. The optimizer step is read from OpArgs::state, so that a recorded step draws anew.
class GaussianNoiseOp final : public GpuOp {
 public:
  GaussianNoiseOp(const nn::GaussianNoiseSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        stddev_(spec.stddev),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kNoise) + context.stream()),
        width_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    if (!a.training || stddev_ <= 0) return kernel::copy(at(a), type_, a.inputs[0], a.out<void>(), a.rows * width_);
    const kernel::Noise noise{.stddev = stddev_, .seed = seed_, .layer = stream_, .first_row = a.first_row};
    kernel::add_noise(at(a), type_, noise, a.state, a.inputs[0], a.rows, width_, a.out<void>());
  }
  void backward(const OpArgs& a) override {
    kernel::copy(at(a), type_, a.dy<void>(), a.input_gradients[0], a.rows * width_);
  }

 private:
  float stddev_;
  std::uint32_t seed_, stream_;
  std::int64_t width_;
};

const RegisteredOp kGaussianNoise = op<nn::GaussianNoiseSpec, GaussianNoiseOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
