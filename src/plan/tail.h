#pragma once

// Questions about a step's tail, for ops and for the stages of the plan. Pure functions, any thread.

#include <algorithm>

#include "nn/activations.h"
#include "plan/plan.h"

namespace dptrain::plan {

/// kLinear where the entry is another layer.
nn::Activation activation_of(const TailEntry& entry);

/// The activation in a tail: an op takes one at most.
struct TailActivation {
  nn::Activation activation = nn::Activation::kLinear;
  bool undone = false;  ///< TailEntry::undone
};
TailActivation tail_activation(const Step& step);

template <class Spec>
bool tail_has(const Step& step) {
  return std::ranges::any_of(step.tail, [](const TailEntry& e) { return e.layer.template get_if<Spec>() != nullptr; });
}

/// How many of Step::inputs its own layer reads: the first ones.
std::size_t own_inputs(const Step& step);
/// The entry that reads Step::inputs[input]; null: the step's own layer does.
const TailEntry* entry_of_input(const Step& step, std::size_t input);
/// TailFusion::passes_gradient of that entry; false for inputs of the step's own layer.
bool passes_gradient(const Step& step, std::size_t input);

}  // namespace dptrain::plan
