#pragma once

// Bindings: the pointers of every call of a plan into the arenas, computed once. Private to this module; used on the
// replica's thread.

#include <cstddef>
#include <vector>

#include "backend/row_table.h"
#include "plan/memory.h"
#include "plan/plan.h"

namespace dptrain::runtime {

/// The arenas of one slot of a replica. `gradients` null: inference only.
struct Arenas {
  std::byte* tensors = nullptr;
  std::byte* packed = nullptr;  ///< the ops' packed copies of their weights
  const float* parameters = nullptr;
  std::vector<std::int64_t> offsets{};       ///< offset of each parameter; empty: the plan's
  const void* compute = nullptr;             ///< the parameters in the plan's compute type
  float* gradients = nullptr;                ///< where backward writes; null: inference only
  std::vector<backend::RowTable*> tables{};  ///< in training; per parameter, null if it is not a table
};

/// Pointers of one step, in the order of backend::OpArgs.
struct BoundStep {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<const float*> weights;
  std::vector<const void*> compute_weights;
  std::vector<void*> output_gradients;  ///< empty in inference
  std::vector<void*> input_gradients;
  std::vector<float*> weight_gradients;
  std::vector<backend::RowTable*> tables;  ///< empty if no parameter is a table
  void* packed = nullptr;
  void* saved = nullptr;
};

class Bindings {
 public:
  /// Binds the steps of the slot; the BoundSteps of other steps stay empty.
  Bindings(const plan::Plan& plan, const plan::MemoryPlan& memory, const Arenas& arenas, int slot = 0);

  /// Sets the memory of this call's inputs, one per graph input.
  void bind_inputs(const std::vector<const void*>& inputs);

  const BoundStep& step(std::size_t s) const { return steps_[s]; }
  void* scratch() const { return scratch_; }
  /// Scratch of an op whose first pass runs in the call of the step before it. Does not overlap scratch().
  void* first_pass_scratch() const { return first_pass_scratch_; }
  /// Memory of a tensor or view in the slot; null for kAbsent and for inputs that are not yet bound.
  void* tensor(int index) const;

 private:
  // Entries that point to a graph input.
  struct ExternalTensor {
    std::size_t tensor, input;
  };
  struct ExternalInput {
    std::size_t step, place, input;
  };

  std::vector<void*> tensors_;  ///< per tensor, views resolved
  std::vector<BoundStep> steps_;
  std::vector<ExternalTensor> external_tensors_;
  std::vector<ExternalInput> external_inputs_;
  void *scratch_ = nullptr, *first_pass_scratch_ = nullptr;
};

}  // namespace dptrain::runtime
