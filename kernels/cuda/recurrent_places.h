#pragma once

// Indices into the arrays of a recurrent layer. Only for .cu files.

#include "kernels/cuda/activation_kinds.h"
#include "kernels/cuda/lanes.h"
#include "kernels/cuda/recurrent.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct StepPlace {
  std::int64_t row, unit, s, t;
  bool valid;  ///< the step is valid for the row
  bool begun;  ///< it or an earlier step is valid

  __device__ static StepPlace of(const RecurrentSteps& steps, std::int64_t i, std::int64_t s) {
    const Split at = split(i, steps.units);
    const std::int64_t t = steps.backwards ? steps.steps - 1 - s : s;
    return {at.quotient,
            at.remainder,
            s,
            t,
            steps.mask == nullptr || steps.mask[at.quotient * steps.steps + t] != 0,
            steps.begins == nullptr || s >= steps.begins[at.quotient]};
  }

  /// In [rows, steps, units], at this step or at step number `other`.
  __device__ std::int64_t in_time(const RecurrentSteps& steps) const {
    return (row * steps.steps + t) * steps.units + unit;
  }
  __device__ std::int64_t in_time(const RecurrentSteps& steps, std::int64_t other) const {
    return (row * steps.steps + (steps.backwards ? steps.steps - 1 - other : other)) * steps.units + unit;
  }
  __device__ std::int64_t in_state(const RecurrentSteps& steps) const { return row * steps.units + unit; }
  /// In the sums of all steps, and of this step.
  __device__ std::int64_t in_sums(const RecurrentSteps& steps, std::int64_t gate) const {
    return gate_of(steps, row * steps.steps + t, steps.rows * steps.steps, gate);
  }
  __device__ std::int64_t in_products(const RecurrentSteps& steps, std::int64_t gate) const {
    return gate_of(steps, row, steps.rows, gate);
  }
  /// In the outputs; -1 if this step has none.
  __device__ std::int64_t in_outputs(const RecurrentSteps& steps) const {
    if (steps.sequences) return (row * steps.steps + s) * steps.units + unit;
    return s + 1 == steps.steps ? in_state(steps) : -1;
  }

 private:
  __device__ std::int64_t gate_of(const RecurrentSteps& steps, std::int64_t position, std::int64_t positions,
                                  std::int64_t gate) const {
    return steps.by_gate ? (gate * positions + position) * steps.units + unit
                         : (position * steps.gates + gate) * steps.units + unit;
  }
};

inline NamedActivation named(Activation kind) { return {kind, traits_of(kind).alpha}; }

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
