#include "optim/losses/categorical_focal_crossentropy.h"

#include "device/gpu/losses/row_loss.h"
#include "kernels/losses/categorical_focal_crossentropy.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class CategoricalFocalRowLoss final : public RowLoss {
 public:
  CategoricalFocalRowLoss(const optim::CategoricalFocalCrossentropySpec& spec, const LossContext& context)
      : shape_(loss_shape(context)),
        from_logits_(context.loss.from_logits),
        label_smoothing_(static_cast<float>(spec.label_smoothing)),
        f_{spec.alpha, spec.gamma} {}
  std::int64_t parts() const override { return shape_.positions(); }
  void run(const kernel::Launch& at, kernel::LossRows a) const override {
    a.targets.label_smoothing = label_smoothing_;
    a.rows *= parts(), a.width = shape_.classes;
    kernel::class_loss(at, a, from_logits_, f_);
  }

 private:
  LossShape shape_;
  bool from_logits_;
  float label_smoothing_;
  kernels::losses::CategoricalFocal f_;
};

const RegisteredLossOp kGpuCategoricalFocal = gpu_loss<optim::CategoricalFocalCrossentropySpec>(
    [](const optim::CategoricalFocalCrossentropySpec& spec, const LossContext& context) -> std::unique_ptr<RowLoss> {
      return std::make_unique<CategoricalFocalRowLoss>(spec, context);
    });

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
