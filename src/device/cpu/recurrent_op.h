#pragma once

// What the CPU's ops of recurrent layers have in common: the inputs' product of all steps, then the steps one after the
// other (kernels/cpu/recurrent.h), and backward the gradients of weights and inputs from the sums' gradients of all
// steps. `Spec` derives from layers::RecurrentSpec.

#include <optional>
#include <string>
#include <utility>

#include "device/cpu/recurrent_inputs.h"
#include "device/cpu/recurrent_weights.h"
#include "kernels/cpu/recurrent.h"

namespace dptrain::device::cpu {

template <class Spec>
class RecurrentOp : public Op {
 public:
  void prepare(std::int64_t rows) override { inputs_.prepare(rows); }
  std::string implementation() const override { return "inputs: " + implementation_; }
  std::pair<double, double> flops_per_sample() const override {
    const double inputs = inputs_.flops(), state = recurrent_.flops();
    return {inputs + state, inputs * (int{inputs_.wants_dx()} + int{inputs_.wants_weights()}) +
                                state * (1 + int{inputs_.wants_weights()})};
  }

 protected:
  /// single_gates: as RecurrentWeights.
  RecurrentOp(const Spec& spec, std::int64_t gates, const OpContext& context, Device& device, bool single_gates = false)
      : spec_(spec),
        rows_(context.rows),
        keeps_(context.step.has_backward),
        has_states_(recurrent_inputs(context) > 1),
        inputs_(spec, gates, context, static_cast<CpuDevice&>(device)),
        recurrent_(inputs_, gates, rows_, single_gates),
        mask_(context.mask()) {
    inputs_.prepare(rows_);
    implementation_ = inputs_.name();
  }

  static std::uint64_t bytes(const kernels::cpu::Room& room) {
    return static_cast<std::uint64_t>(room.taken()) * sizeof(float);
  }
  /// `factors`: of the state, where recurrent dropout draws them.
  kernels::cpu::RecurrentSteps steps_of(const OpArgs& a, const float* factors) const {
    return {.rows = a.rows,
            .steps = inputs_.steps(),
            .units = spec_.units,
            .backwards = spec_.go_backwards,
            .mask = mask_ ? a.in<std::uint8_t>(*mask_) : nullptr,
            .state_factors = inputs_.drops_state(a) ? factors : nullptr,
            .activation = spec_.activation,
            .recurrent_activation = spec_.recurrent_activation};
  }

  const Spec spec_;
  const std::int64_t rows_;
  const bool keeps_;       ///< for backward
  const bool has_states_;  ///< other layers give the initial state
  RecurrentInputs inputs_;
  RecurrentWeights recurrent_;

 private:
  std::optional<std::size_t> mask_;
  std::string implementation_;
};

}  // namespace dptrain::device::cpu
