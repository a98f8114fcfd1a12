#include "backend/cpu/recurrent_weights.h"

#include "backend/cpu/workspace.h"
#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/pad.h"

namespace dptrain::backend::cpu {

using kernels::cpu::copy_columns;
using kernels::cpu::matrix_window;

RecurrentWeights::RecurrentWeights(const RecurrentInputs& inputs, const ValidSteps& steps, std::int64_t gates,
                                   std::int64_t rows, bool single_gates)
    : inputs_(inputs), steps_(steps), gates_(gates), rows_(rows) {
  const std::int64_t units = inputs.units(), positions = rows * inputs.steps();
  const std::int64_t grain = steps.packs() ? 1 : inputs.steps();  // positions that come together
  const auto floats = [&](std::int64_t columns) {
    return static_cast<std::int64_t>(workspace_bytes(positions / grain,
                                                     [&](std::int64_t r) {
                                                       return kernels::cpu::gemm_conv_backward_weights_workspace(
                                                           matrix_window(units, columns), r * grain, threads_);
                                                     }) /
                                     sizeof(float));
  };
  workspace_ = floats(gates * units);
  if (!single_gates && !inputs.drops_states()) return;
  kernels::cpu::Room room(nullptr);
  room.take(2 * positions * units);
  room.take(units * units);
  room.take(rows * units);
  room.take(floats(units));
  workspace_ = std::max(workspace_, room.taken());
}

void RecurrentWeights::differentiate(const OpArgs& a, const float* hidden, const float* dz, float* gradient,
                                     float* bias, float* workspace) const {
  if (!inputs_.drops_state(a))
    return kernels::cpu::gemm_conv_backward_weights(matrix_window(inputs_.units(), gates_ * inputs_.units()), hidden,
                                                    dz, steps_.valid(), workspace, gradient, bias);
  for (std::int64_t gate = 0; gate < gates_; ++gate) differentiate_gate(a, gate, hidden, dz, gradient, bias, workspace);
}

void RecurrentWeights::differentiate_gate(const OpArgs& a, std::int64_t gate, const float* hidden, const float* dz,
                                          float* gradient, float* bias, float* workspace) const {
  const std::int64_t units = inputs_.units(), positions = steps_.valid(), columns = gates_ * units;
  kernels::cpu::Room room(workspace);
  float* const dropped = room.take(2 * rows_ * inputs_.steps() * units);
  float* const of_gate = dropped + positions * units;
  float* const square = room.take(units * units);
  float* const factors = room.take(rows_ * units);
  float* const product = room.take(0);
  if (inputs_.drops_state(a)) {
    inputs_.drop_state(a, gate, hidden, factors, dropped);
    hidden = dropped;
  }
  copy_columns({}, DType::kF32, dz + gate * units, columns, of_gate, units, positions, units);
  kernels::cpu::gemm_conv_backward_weights(matrix_window(units, units), hidden, of_gate, positions, product, square,
                                           bias == nullptr ? nullptr : bias + gate * units);
  copy_columns({}, DType::kF32, square, units, gradient + gate * units, columns, units, units);
}

}  // namespace dptrain::backend::cpu
