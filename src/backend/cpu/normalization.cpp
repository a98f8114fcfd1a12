#include "nn/normalization.h"

#include "backend/cpu/channel_affine.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {
namespace {

class NormalizationOp final : public Op {
 public:
  NormalizationOp(const nn::NormalizationSpec& spec, const OpContext& context, Device&)
      : spec_(spec), channels_(context.input(0).back()), elements_(context.output().elements()) {
    if (!nn::moments_are_weights(spec)) affine_ = RepeatedAffine(nn::channel_affine(spec, context.input(0)));
  }

  /// Whoever has weights is told of their changes; what it makes of them it keeps itself.
  plan::Need need() const override { return {.packed = nn::moments_are_weights(spec_) ? sizeof(float) : 0}; }
  void pack(const OpArgs& a) override {
    const auto channels = static_cast<std::size_t>(channels_);
    affine_ = RepeatedAffine(nn::channel_affine(spec_, {a.weights[0], channels}, {a.weights[1], channels}));
  }

  void forward(const OpArgs& a) override { affine_.forward(a.in(), a.rows * elements_, a.out()); }
  void backward(const OpArgs& a) override {
    if (a.dx() != nullptr) affine_.backward(a.dy(), a.rows * elements_, a.dx());
  }

 private:
  nn::NormalizationSpec spec_;
  RepeatedAffine affine_;
  std::int64_t channels_, elements_;
};

const RegisteredOp kCpuNormalization = op<nn::NormalizationSpec, NormalizationOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
