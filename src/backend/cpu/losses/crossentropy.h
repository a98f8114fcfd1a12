#pragma once

// Crossentropy over classes, which two losses name: on logits in one pass with softmax, or on probabilities.

#include "backend/cpu/losses/row_loss.h"

namespace dptrain::backend::cpu {

inline RowLoss crossentropy(const LossContext& context, double label_smoothing) {
  const bool logits = context.loss.from_logits;
  return {.sample = position_rows(loss_shape(context)),
          .run =
              [logits, smoothing = static_cast<float>(label_smoothing)](const LossCall& c) {
                kernels::cpu::ClassTargets targets = c.targets;
                targets.label_smoothing = smoothing;
                const auto loss =
                    logits ? kernels::cpu::softmax_cross_entropy : kernels::cpu::categorical_cross_entropy;
                loss(c.predictions, c.rows, c.width, targets,
                     {.loss = c.values, .gradient = c.gradient, .gradient_scale = c.gradient_scale, .hit = c.hits});
              },
          .takes_classes = true,
          .knows_hits = logits};
}

}  // namespace dptrain::backend::cpu
