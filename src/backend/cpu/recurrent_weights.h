#pragma once

// The gradient of a recurrent kernel [units, gates * units] from all steps at once: the states that the steps read, and
// the gradients of their sums. Belongs to one op.

#include "backend/cpu/recurrent_inputs.h"

namespace dptrain::backend::cpu {

class RecurrentWeights {
 public:
  /// `inputs`: of the same op. single_gates: differentiate_gate() is called, too.
  RecurrentWeights(const RecurrentInputs& inputs, const ValidSteps& steps, std::int64_t gates, std::int64_t rows,
                   bool single_gates = false);

  /// Floats, for calls of up to `rows` rows.
  std::int64_t workspace() const { return workspace_; }
  /// hidden [rows, steps, units], before recurrent dropout; dz [rows, steps, gates * units], both of the steps that
  /// have places; bias [gates * units], null where it is not wanted.
  void differentiate(const OpArgs& a, const float* hidden, const float* dz, float* gradient, float* bias,
                     float* workspace) const;
  /// The same of one gate's columns of all three.
  void differentiate_gate(const OpArgs& a, std::int64_t gate, const float* hidden, const float* dz, float* gradient,
                          float* bias, float* workspace) const;
  double flops() const {
    return 2.0 * static_cast<double>(inputs_.steps() * inputs_.units() * gates_ * inputs_.units());
  }

 private:
  const RecurrentInputs& inputs_;
  const ValidSteps& steps_;
  std::int64_t gates_, rows_;
  int threads_ = kernels::cpu::thread_count();
  std::int64_t workspace_;
};

}  // namespace dptrain::backend::cpu
