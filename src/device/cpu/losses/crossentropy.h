#pragma once

// Crossentropy over classes, which two losses name: on logits in one pass with softmax, or on probabilities.

#include "device/cpu/losses/row_loss.h"

namespace dptrain::device::cpu {

class CrossentropyRowLoss final : public RowLoss {
 public:
  CrossentropyRowLoss(const LossContext& context, double label_smoothing)
      : shape_(loss_shape(context)),
        from_logits_(context.loss.from_logits),
        label_smoothing_(static_cast<float>(label_smoothing)) {}

  std::int64_t parts() const override { return shape_.positions(); }
  bool takes_classes() const override { return true; }
  bool knows_hits() const override { return from_logits_; }
  void run(const LossCall& c) const override {
    kernels::cpu::ClassTargets targets = c.targets;
    targets.label_smoothing = label_smoothing_;
    const auto loss = from_logits_ ? kernels::cpu::softmax_cross_entropy : kernels::cpu::categorical_cross_entropy;
    loss(c.predictions, c.samples * parts(), shape_.classes, targets,
         {.loss = c.values, .gradient = c.gradient, .gradient_scale = c.gradient_scale, .hit = c.hits});
  }

 private:
  LossShape shape_;
  bool from_logits_;
  float label_smoothing_;
};

}  // namespace dptrain::device::cpu
