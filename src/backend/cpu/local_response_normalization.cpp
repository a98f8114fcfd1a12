#include "nn/normalization.h"

#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "kernels/cpu/lrn.h"

namespace dptrain::backend::cpu {
namespace {

/// Backward computes the sums again: cheaper than keeping a tensor as large as the input.
class LocalResponseNormalizationOp final : public Op {
 public:
  LocalResponseNormalizationOp(const nn::LocalResponseNormalizationSpec& spec, const OpContext& context, Device&)
      : lrn_{.radius = spec.depth_radius, .bias = spec.bias, .alpha = spec.alpha, .beta = spec.beta},
        pixels_(context.input(0)[0] * context.input(0)[1]),
        channels_(context.input(0)[2]),
        scratch_(workspace_bytes(context.rows, [&](std::int64_t rows) {
          return kernels::cpu::lrn_workspace(lrn_, rows * pixels_, channels_);
        })) {}

  plan::Need need() const override { return {.saved = 0, .scratch = scratch_}; }

  void forward(const OpArgs& a) override {
    kernels::cpu::lrn_forward(lrn_, a.in(), a.rows * pixels_, channels_, static_cast<float*>(a.scratch), a.out(),
                              nullptr);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::lrn_backward(lrn_, a.in(), nullptr, a.dy(), a.rows * pixels_, channels_,
                               static_cast<float*>(a.scratch), a.dx());
  }

 private:
  kernels::cpu::Lrn lrn_;
  std::int64_t pixels_, channels_;
  std::uint64_t scratch_;
};

const RegisteredOp kCpuLocalResponseNormalization =
    op<nn::LocalResponseNormalizationSpec, LocalResponseNormalizationOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
