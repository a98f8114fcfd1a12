#pragma once

// Pointers of every call of a plan, worked out once: where in the arenas each step reads and writes. Private to the
// room; used on the replica's thread.

#include <cstddef>
#include <vector>

#include "backend/row_table.h"
#include "plan/memory.h"
#include "plan/plan.h"

namespace dptrain::replica {

/// The arenas of one slot of a replica. Gradients null: inference only.
struct Arenas {
  std::byte* tensors = nullptr;
  std::byte* packed = nullptr;  ///< ops' own copies of their weights
  const float* parameters = nullptr;
  std::vector<std::int64_t> offsets{};       ///< of each parameter; empty: the plan's
  const void* compute = nullptr;             ///< the parameters in the plan's compute type
  float* gradients = nullptr;                ///< where backward writes
  std::vector<backend::RowTable*> tables{};  ///< in training; per parameter, null for those that are none
};

/// Pointers of one step, in the order of backend::OpArgs.
struct BoundStep {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<const float*> weights;
  std::vector<const void*> compute_weights;
  std::vector<void*> output_gradients;  ///< none in inference
  std::vector<void*> input_gradients;
  std::vector<float*> weight_gradients;
  std::vector<backend::RowTable*> tables;  ///< none where no parameter is one
  void* packed = nullptr;
  void* saved = nullptr;
};

class Bindings {
 public:
  /// Of the slot's steps; the others are empty.
  Bindings(const plan::Plan& plan, const plan::MemoryPlan& memory, const Arenas& arenas, int slot = 0);

  /// The memory of this call's inputs, one per graph input.
  void bind_inputs(const std::vector<const void*>& inputs);

  const BoundStep& step(std::size_t s) const { return steps_[s]; }
  void* scratch() const { return scratch_; }
  /// Of ops that run beside the one that has the scratch.
  void* beside() const { return beside_; }
  /// Of a tensor or a view of one, in the slot; null for kAbsent and for inputs not yet bound.
  void* tensor(int index) const;

 private:
  // Places that point to a graph input.
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
  void *scratch_ = nullptr, *beside_ = nullptr;
};

}  // namespace dptrain::replica
