#pragma once

// What the CPU's ops of recurrent layers have in common: the inputs' product of all steps, then the steps one after the
// other (kernels/cpu/recurrent.h), and backward the gradients of weights and inputs from the sums' gradients of all
// steps. Packed is the recurrent kernel, for forward and for backward.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "device/cpu/recurrent_inputs.h"
#include "device/cpu/recurrent_weights.h"
#include "kernels/cpu/recurrent.h"

namespace dptrain::device::cpu {

/// A recurrent op in its parts. What a part gives is valid until the next one.
class RecurrentPasses : public Op {
 public:
  void forward(const OpArgs& a) final {
    const kernels::cpu::RecurrentWork steps = begin_forward(a);
    kernels::cpu::run_recurrent({&steps, 1}, workspace(a));
  }
  void backward(const OpArgs& a) final {
    const kernels::cpu::RecurrentWork steps = begin_backward(a);
    kernels::cpu::run_recurrent({&steps, 1}, workspace(a));
    end_backward(a);
  }

 protected:
  /// Everything in front of the steps; the steps.
  virtual kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) = 0;
  virtual kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) = 0;
  /// What comes behind them: gradients of weights and inputs.
  virtual void end_backward(const OpArgs& a) = 0;
  /// Of the steps.
  virtual float* workspace(const OpArgs& a) const = 0;
};

/// `Spec` derives from layers::RecurrentSpec.
template <class Spec>
class RecurrentOp : public RecurrentPasses {
 public:
  void prepare(std::int64_t rows) override { inputs_.prepare(rows); }
  std::string implementation() const override { return "inputs: " + implementation_; }
  std::pair<double, double> flops_per_sample() const override {
    const double inputs = inputs_.flops(), state = recurrent_.flops();
    return {inputs + state, inputs * (int{inputs_.wants_dx()} + int{inputs_.wants_weights()}) +
                                state * (1 + int{inputs_.wants_weights()})};
  }
  void pack(const OpArgs& a) override {
    const Packed packed = packed_in(a.packed);
    kernels::cpu::pack_recurrent_kernel(a.weights[1], spec_.units, gates_, false, packed.forward);
    if (keeps_) kernels::cpu::pack_recurrent_kernel(a.weights[1], spec_.units, gates_, true, packed.backward);
  }

 protected:
  /// single_gates: as RecurrentWeights. room: floats that a piece of the steps wants.
  RecurrentOp(const Spec& spec, std::int64_t gates, std::int64_t room, const OpContext& context, Device& device,
              bool single_gates = false)
      : spec_(spec),
        rows_(context.rows),
        gates_(gates),
        room_(room),
        keeps_(context.step.has_backward),
        has_states_(recurrent_inputs(context) > 1),
        inputs_(spec, gates, context, static_cast<CpuDevice&>(device)),
        recurrent_(inputs_, gates, rows_, single_gates),
        mask_(context.mask()) {
    inputs_.prepare(rows_);
    implementation_ = inputs_.name();
  }

  struct Packed {
    float *forward, *backward;
    std::uint64_t bytes;
  };
  Packed packed_in(void* memory) const {
    kernels::cpu::Room room(static_cast<float*>(memory));
    const std::int64_t floats = kernels::cpu::packed_recurrent_kernel(spec_.units, gates_);
    Packed packed{};
    packed.forward = room.take(floats);
    packed.backward = room.take(keeps_ ? floats : 0);
    packed.bytes = bytes(room);
    return packed;
  }
  /// Of the steps, and of the gradient of the recurrent kernel behind them.
  std::int64_t workspace_floats() const {
    return std::max(kernels::cpu::recurrent_workspace(room_, kernels::cpu::thread_count()), recurrent_.workspace());
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
            .sequences = spec_.return_sequences};
  }

  const Spec spec_;
  const std::int64_t rows_, gates_, room_;
  const bool keeps_;       ///< for backward
  const bool has_states_;  ///< other layers give the initial state
  RecurrentInputs inputs_;
  RecurrentWeights recurrent_;

 private:
  std::optional<std::size_t> mask_;
  std::string implementation_;
};

}  // namespace dptrain::device::cpu
