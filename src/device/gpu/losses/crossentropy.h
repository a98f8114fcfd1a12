#pragma once

// Crossentropy over classes, which two losses name: on logits in one pass with softmax, or on probabilities.

#include "device/gpu/losses/row_loss.h"

namespace dptrain::device::DPTRAIN_GPU {

class CrossentropyRowLoss final : public RowLoss {
 public:
  CrossentropyRowLoss(const LossContext& context, double label_smoothing)
      : shape_(loss_shape(context)),
        from_logits_(context.loss.from_logits),
        label_smoothing_(static_cast<float>(label_smoothing)) {}

  std::int64_t parts() const override { return shape_.positions(); }
  bool knows_hits() const override { return from_logits_; }
  void run(const kernel::Launch& at, kernel::LossRows a) const override {
    a.targets.label_smoothing = label_smoothing_;
    const auto loss = from_logits_ ? kernel::softmax_cross_entropy : kernel::categorical_cross_entropy;
    loss(at, a.type, a.predictions, a.rows * parts(), shape_.classes, a.targets, a.outputs);
  }

 private:
  LossShape shape_;
  bool from_logits_;
  float label_smoothing_;
};

}  // namespace dptrain::device::DPTRAIN_GPU
