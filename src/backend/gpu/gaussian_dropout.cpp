#include "nn/dropout.h"

#include "backend/gpu/gpu_op.h"
#include "core/random.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/noise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// The noise is a function of (seed, step of the plan, optimizer step, row of the global batch): nothing is kept. The
/// optimizer step is read from OpArgs::state, so that a recorded step draws anew.
class GaussianDropoutOp final : public GpuOp {
 public:
  GaussianDropoutOp(const nn::GaussianDropoutSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        stddev_(nn::deviation(spec)),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kNoise) + context.stream()),
        width_(context.output().elements()) {}

  void forward(const OpArgs& a) override { drop(a, a.training, a.in<void>(), a.out<void>()); }
  void backward(const OpArgs& a) override { drop(a, true, a.dy<void>(), a.dx<void>()); }

 private:
  void drop(const OpArgs& a, bool training, const void* x, void* y) const {
    if (!training || stddev_ <= 0) return kernel::copy(at(a), type_, x, y, a.rows * width_);
    const kernel::Noise noise{.stddev = stddev_, .seed = seed_, .layer = stream_, .first_row = a.first_row};
    kernel::multiply_noise(at(a), type_, noise, a.state, x, a.rows, width_, y);
  }

  float stddev_;
  std::uint32_t seed_, stream_;
  std::int64_t width_;
};

const RegisteredOp kGaussianDropout = op<nn::GaussianDropoutSpec, GaussianDropoutOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
