#include "optim/losses/categorical_hinge.h"

#include "device/cpu/losses/row_loss.h"

namespace dptrain::device::cpu {
namespace {

class CategoricalHingeRowLoss final : public RowLoss {
 public:
  explicit CategoricalHingeRowLoss(LossShape shape) : shape_(shape) {}
  std::int64_t parts() const override { return shape_.positions(); }
  void run(const LossCall& c) const override {
    kernels::cpu::categorical_hinge(
        {c.predictions, c.targets.dense, c.samples * parts(), shape_.classes, c.values, c.gradient, c.gradient_scale});
  }

 private:
  LossShape shape_;
};

const RegisteredLossOp kCpuCategoricalHinge = cpu_loss<optim::CategoricalHingeSpec>(
    [](const optim::CategoricalHingeSpec&, const LossContext& context) -> std::unique_ptr<RowLoss> {
      return std::make_unique<CategoricalHingeRowLoss>(loss_shape(context));
    });

}  // namespace
}  // namespace dptrain::device::cpu
