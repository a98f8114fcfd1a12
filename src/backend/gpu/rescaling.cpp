#include "nn/normalization.h"

#include "backend/gpu/channel_affine.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Without numbers of the channels' own it is one pass over all elements.
class RescalingOp final : public ChannelAffineOp {
 public:
  RescalingOp(const nn::RescalingSpec& spec, const OpContext& context, Device& device)
      : ChannelAffineOp(context, device),
        plain_(nn::is_plain(spec)),
        scale_(static_cast<float>(spec.scale.of(0))),
        offset_(static_cast<float>(spec.offset.of(0))),
        elements_(context.output().elements()) {
    if (!plain_) set(nn::channel_affine(spec, context.input(0)));
  }

  plan::Need need() const override { return plain_ ? plan::Need{} : room(); }
  void pack(const OpArgs& a) override { send(a); }

  void forward(const OpArgs& a) override {
    if (!plain_) return ChannelAffineOp::forward(a);
    kernel::scale_offset(at(a), type_, a.inputs[0], scale_, offset_, a.out<void>(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    if (!plain_) return ChannelAffineOp::backward(a);
    kernel::scale_offset(at(a), type_, a.dy<void>(), scale_, 0.0F, a.input_gradients[0], a.rows * elements_);
  }

 private:
  bool plain_;
  float scale_, offset_;
  std::int64_t elements_;
};

const RegisteredOp kRescaling = op<nn::RescalingSpec, RescalingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
