#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuCategoricalFocal = gpu_loss<nn::CategoricalFocalCrossentropySpec>(
    [](const nn::CategoricalFocalCrossentropySpec& spec, const LossContext& context) {
      const bool logits = context.loss.from_logits;
      const auto smoothing = static_cast<float>(spec.label_smoothing);
      const kernels::losses::CategoricalFocalCrossentropy f{spec.alpha, spec.gamma};
      return RowLoss{.sample = position_rows(loss_shape(context)),
                     .run = [=](const kernel::Launch& at, kernel::LossRows rows) {
                       rows.targets.label_smoothing = smoothing;
                       kernel::class_loss(at, rows, logits, f);
                     }};
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
