#include "nn/normalization.h"

#include "backend/cpu/channel_affine.h"
#include "backend/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

class RescalingOp final : public Op {
 public:
  RescalingOp(const nn::RescalingSpec& spec, const OpContext& context, Device&)
      : plain_(nn::is_plain(spec)),
        scale_(static_cast<float>(spec.scale.of(0))),
        offset_(static_cast<float>(spec.offset.of(0))),
        elements_(context.output().elements()) {
    if (!plain_) affine_ = RepeatedAffine(nn::channel_affine(spec, context.input(0)));
  }

  void forward(const OpArgs& a) override {
    if (!plain_) return affine_.forward(a.in(), a.rows * elements_, a.out());
    kernels::cpu::scale_offset(a.in(), scale_, offset_, a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    if (!plain_) return affine_.backward(a.dy(), a.rows * elements_, a.dx());
    kernels::cpu::scale_offset(a.dy(), scale_, 0.0F, a.dx(), a.rows * elements_);
  }

 private:
  bool plain_;
  float scale_, offset_;
  RepeatedAffine affine_;
  std::int64_t elements_;
};

const RegisteredOp kCpuRescaling = op<nn::RescalingSpec, RescalingOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
