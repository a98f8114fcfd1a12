#include "optim/losses/categorical_hinge.h"

#include "device/gpu/losses/row_loss.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class CategoricalHingeRowLoss final : public RowLoss {
 public:
  explicit CategoricalHingeRowLoss(LossShape shape) : shape_(shape) {}
  std::int64_t parts() const override { return shape_.positions(); }
  void run(const kernel::Launch& at, kernel::LossRows a) const override {
    a.rows *= parts(), a.width = shape_.classes;
    kernel::categorical_hinge(at, a);
  }

 private:
  LossShape shape_;
};

const RegisteredLossOp kGpuCategoricalHinge = gpu_loss<optim::CategoricalHingeSpec>(
    [](const optim::CategoricalHingeSpec&, const LossContext& context) -> std::unique_ptr<RowLoss> {
      return std::make_unique<CategoricalHingeRowLoss>(loss_shape(context));
    });

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
