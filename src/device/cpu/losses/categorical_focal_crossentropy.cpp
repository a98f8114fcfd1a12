#include "optim/losses/categorical_focal_crossentropy.h"

#include "device/cpu/losses/row_loss.h"
#include "kernels/losses/categorical_focal_crossentropy.h"

namespace dptrain::device::cpu {
namespace {

class CategoricalFocalRowLoss final : public RowLoss {
 public:
  CategoricalFocalRowLoss(const optim::CategoricalFocalCrossentropySpec& spec, const LossContext& context)
      : shape_(loss_shape(context)),
        from_logits_(context.loss.from_logits),
        label_smoothing_(static_cast<float>(spec.label_smoothing)),
        f_{spec.alpha, spec.gamma} {}
  std::int64_t parts() const override { return shape_.positions(); }
  bool takes_classes() const override { return true; }
  void run(const LossCall& c) const override {
    kernels::cpu::ClassTargets targets = c.targets;
    targets.label_smoothing = label_smoothing_;
    kernels::cpu::class_loss(c.predictions, c.samples * parts(), shape_.classes, from_logits_, targets,
                             {.loss = c.values, .gradient = c.gradient, .gradient_scale = c.gradient_scale}, f_);
  }

 private:
  LossShape shape_;
  bool from_logits_;
  float label_smoothing_;
  kernels::losses::CategoricalFocal f_;
};

const RegisteredLossOp kCpuCategoricalFocal = cpu_loss<optim::CategoricalFocalCrossentropySpec>(
    [](const optim::CategoricalFocalCrossentropySpec& spec, const LossContext& context) -> std::unique_ptr<RowLoss> {
      return std::make_unique<CategoricalFocalRowLoss>(spec, context);
    });

}  // namespace
}  // namespace dptrain::device::cpu
