#include "nn/normalization.h"

#include "backend/gpu/channel_affine.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class NormalizationOp final : public ChannelAffineOp {
 public:
  NormalizationOp(const nn::NormalizationSpec& spec, const OpContext& context, Device& device)
      : ChannelAffineOp(context, device), of_weights_(nn::moments_are_weights(spec)), invert_(spec.invert) {
    if (!of_weights_) set(nn::channel_affine(spec, context.input(0)));
  }

  plan::Need need() const override { return room(); }
  void pack(const OpArgs& a) override {
    if (!of_weights_) return send(a);
    kernel::normalization_numbers(at(a), a.weights[0], a.weights[1], channels(), invert_,
                                  static_cast<float*>(a.packed));
  }

 private:
  bool of_weights_, invert_;
};

const RegisteredOp kNormalization = op<nn::NormalizationSpec, NormalizationOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
