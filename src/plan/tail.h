#pragma once

// Queries of a step's tail, for ops and for the stages of the plan. Pure functions; any thread.

#include <algorithm>

#include "nn/activations.h"
#include "plan/plan.h"

namespace dptrain::plan {

/// kLinear if the entry is not an activation.
nn::Activation activation_of(const TailEntry& entry);

/// The activation in a tail; there is at most one.
struct TailActivation {
  nn::Activation activation = nn::Activation::kLinear;
  bool undone = false;  ///< TailEntry::undone
};
TailActivation tail_activation(const Step& step);

template <class Spec>
bool tail_has(const Step& step) {
  return std::ranges::any_of(step.tail, [](const TailEntry& e) { return e.layer.template get_if<Spec>() != nullptr; });
}

/// Number of Step::inputs that the step's own layer reads, which are the first ones.
std::size_t own_inputs(const Step& step);
/// The entry that reads Step::inputs[input]; null: the step's own layer reads it.
const TailEntry* entry_of_input(const Step& step, std::size_t input);
/// TailFusion::passes_gradient of that entry; false for inputs of the step's own layer.
bool passes_gradient(const Step& step, std::size_t input);

}  // namespace dptrain::plan
