#pragma once

// Crossentropy over classes, which two losses name: on logits in one pass with softmax, or on probabilities.

#include "backend/gpu/losses/row_loss.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

inline RowLoss crossentropy(const LossContext& context, double label_smoothing) {
  const bool logits = context.loss.from_logits;
  return {.sample = position_rows(loss_shape(context)),
          .run =
              [logits, smoothing = static_cast<float>(label_smoothing)](const kernel::Launch& at, kernel::LossRows a) {
                a.targets.label_smoothing = smoothing;
                const auto loss = logits ? kernel::softmax_cross_entropy : kernel::categorical_cross_entropy;
                loss(at, a.type, a.predictions, a.rows, a.width, a.targets, a.outputs);
              },
          .knows_hits = logits};
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
