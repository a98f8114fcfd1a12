#include "device/tail.h"

#include "layers/activation_layer.h"
#include "plan/tail.h"

namespace dptrain::device {

FusionClaim takes_activation() {
  return fuses<layers::ActivationSpec>([](const layers::ActivationSpec& behind, const plan::Follower& follower,
                                          const Device&) -> std::optional<plan::TailFusion> {
    if (!follower.step.tail.empty() || !layers::can_be_epilogue(behind.activation)) return std::nullopt;
    return plan::TailFusion{.reads_output = true};
  });
}

UndoClaim undoes_relu() {
  return {typeid(layers::ActivationSpec), [](const plan::Step&, const plan::TailEntry& last) {
            return plan::activation_of(last) == layers::Activation::kRelu;
          }};
}

}  // namespace dptrain::device
