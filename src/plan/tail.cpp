#include "plan/tail.h"

#include "core/index.h"
#include "nn/activations.h"

namespace dptrain::plan {

nn::Activation activation_of(const TailEntry& entry) {
  const auto* activation = entry.layer.get_if<nn::ActivationSpec>();
  return activation == nullptr ? nn::Activation::kLinear : activation->activation;
}

TailActivation tail_activation(const Step& step) {
  for (const TailEntry& entry : step.tail)
    if (activation_of(entry) != nn::Activation::kLinear) return {activation_of(entry), entry.undone};
  return {};
}

std::size_t own_inputs(const Step& step) {
  std::size_t own = step.inputs.size();
  for (const TailEntry& entry : step.tail) own -= entry.other_inputs;
  return own;
}

const TailEntry* entry_of_input(const Step& step, std::size_t input) {
  std::size_t end = own_inputs(step);
  if (input < end) return nullptr;
  for (const TailEntry& entry : step.tail)
    if (input < (end += entry.other_inputs)) return &entry;
  return nullptr;
}

bool passes_gradient(const Step& step, std::size_t input) {
  const TailEntry* entry = entry_of_input(step, input);
  return entry != nullptr && entry->fusion.passes_gradient;
}

}  // namespace dptrain::plan
