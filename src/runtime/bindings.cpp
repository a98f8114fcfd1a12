#include "runtime/bindings.h"

#include <algorithm>

#include "core/index.h"

namespace dptrain::runtime {
namespace {

/// Index of a tensor among the graph inputs.
std::size_t input_of(const plan::Plan& plan, int tensor) {
  return static_cast<std::size_t>(std::ranges::find(plan.inputs, tensor) - plan.inputs.begin());
}

}  // namespace

Bindings::Bindings(const plan::Plan& plan, const plan::MemoryPlan& memory, const Arenas& arenas, int slot) {
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const int root = plan::root(plan, static_cast<int>(t));
    const bool external = plan.tensors[at(root)].external;
    const bool elsewhere = external || plan.tensors[at(root)].slot != slot;
    tensors_.push_back(elsewhere ? nullptr : arenas.tensors + memory.tensor_offset[t]);
    if (external) external_tensors_.push_back({t, input_of(plan, root)});
  }
  scratch_ = arenas.tensors + memory.scratch_offset;
  first_pass_scratch_ = arenas.tensors + memory.scratch_offset + memory.first_pass_scratch_offset;

  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::Step& step = plan.steps[s];
    BoundStep bound;
    if (step.slot != slot) {
      steps_.push_back(std::move(bound));
      continue;
    }
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      bound.inputs.push_back(tensor(step.inputs[i]));
      const int root = plan::root(plan, step.inputs[i]);
      if (plan.tensors[at(root)].external) external_inputs_.push_back({s, i, input_of(plan, root)});
    }
    for (const int output : step.outputs) bound.outputs.push_back(tensor(output));
    for (const int gradient : step.output_gradients) bound.output_gradients.push_back(tensor(gradient));
    for (const int gradient : step.input_gradients) bound.input_gradients.push_back(tensor(gradient));
    for (std::size_t k = 0; k < step.parameters.size(); ++k) {
      const plan::Parameter& parameter = plan.parameters[at(step.parameters[k])];
      const std::int64_t offset = arenas.offsets.empty() ? parameter.offset : arenas.offsets[at(step.parameters[k])];
      bound.weights.push_back(arenas.parameters + offset);
      bound.compute_weights.push_back(static_cast<const std::byte*>(arenas.compute) +
                                      static_cast<std::size_t>(offset) * size_of(plan.compute));
      float* gradient = nullptr;
      const bool table = parameter.kind == plan::ParameterKind::kTable;
      if (table && !arenas.tables.empty()) {
        bound.tables.resize(step.parameters.size(), nullptr);
        bound.tables[k] = arenas.tables[at(step.parameters[k])];
      }
      if (arenas.gradients != nullptr && step.parameter_gradients[k] && !table) {
        gradient = static_cast<float*>(tensor(step.parameter_gradient_tensors[k]));
        if (gradient == nullptr) gradient = arenas.gradients + parameter.offset;
      }
      bound.weight_gradients.push_back(gradient);
    }
    bound.packed = arenas.packed + memory.packed_offset[s];
    bound.saved = arenas.tensors + memory.saved_offset[s];
    steps_.push_back(std::move(bound));
  }
}

void Bindings::bind_inputs(const std::vector<const void*>& inputs) {
  // const_cast: inputs are only read, but the table also has tensors that are written.
  for (const ExternalTensor& place : external_tensors_) tensors_[place.tensor] = const_cast<void*>(inputs[place.input]);
  for (const ExternalInput& place : external_inputs_) steps_[place.step].inputs[place.place] = inputs[place.input];
}

void* Bindings::tensor(int index) const { return index == plan::kAbsent ? nullptr : tensors_[at(index)]; }

}  // namespace dptrain::runtime
