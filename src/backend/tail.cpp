#include "backend/tail.h"

#include "nn/activations.h"
#include "nn/merging.h"
#include "plan/tail.h"

namespace dptrain::backend {

FusionClaim takes_activation() {
  return fuses<nn::ActivationSpec>([](const nn::ActivationSpec& behind, const plan::Follower& follower,
                                      const Device&) -> std::optional<plan::TailFusion> {
    if (!follower.step.tail.empty() || !nn::can_be_epilogue(behind.activation)) return std::nullopt;
    return plan::TailFusion{.reads_output = true};
  });
}

FusionClaim takes_sum() {
  return fuses<nn::AddSpec>(
      [](const nn::AddSpec&, const plan::Follower& follower, const Device&) -> std::optional<plan::TailFusion> {
        const auto shapes = follower.layer_inputs;
        if (!follower.step.tail.empty() || shapes.size() != 2 || shapes[0] != shapes[1]) return std::nullopt;
        return plan::TailFusion{.passes_gradient = true};
      });
}

FusionClaim takes_relu_behind_sum(bool also_relu6) {
  return fuses<nn::ActivationSpec>([also_relu6](const nn::ActivationSpec& behind, const plan::Follower& follower,
                                                const Device&) -> std::optional<plan::TailFusion> {
    const auto& tail = follower.step.tail;
    const bool first = tail.empty() || (tail.size() == 1 && plan::tail_has<nn::AddSpec>(follower.step));
    const bool taken =
        behind.activation == nn::Activation::kRelu || (also_relu6 && behind.activation == nn::Activation::kRelu6);
    if (!first || !taken) return std::nullopt;
    return plan::TailFusion{.reads_output = true};
  });
}

UndoClaim undoes_relu() {
  return {typeid(nn::ActivationSpec), [](const plan::Step&, const plan::TailEntry& last) {
            return plan::activation_of(last) == nn::Activation::kRelu;
          }};
}

}  // namespace dptrain::backend
