#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuCategoricalFocal = cpu_loss<nn::CategoricalFocalCrossentropySpec>(
    [](const nn::CategoricalFocalCrossentropySpec& spec, const LossContext& context) {
      const bool logits = context.loss.from_logits;
      const auto smoothing = static_cast<float>(spec.label_smoothing);
      const kernels::losses::CategoricalFocalCrossentropy f{spec.alpha, spec.gamma};
      return RowLoss{.sample = position_rows(loss_shape(context)),
                     .run =
                         [=](const LossCall& c) {
                           kernels::cpu::ClassTargets targets = c.targets;
                           targets.label_smoothing = smoothing;
                           kernels::cpu::class_loss(
                               c.predictions, c.rows, c.width, logits, targets,
                               {.loss = c.values, .gradient = c.gradient, .gradient_scale = c.gradient_scale}, f);
                         },
                     .takes_classes = true};
    });

}  // namespace
}  // namespace dptrain::backend::cpu
