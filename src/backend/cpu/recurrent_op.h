#pragma once

// What the CPU's ops of recurrent layers have in common: the inputs' product of all steps, then the steps one after the
// other (kernels/cpu/recurrent.h), and backward the gradients of weights and inputs from the sums' gradients of all
// steps. Packed is the recurrent kernel, for forward and for backward.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "backend/cpu/recurrent_inputs.h"
#include "backend/cpu/recurrent_weights.h"
#include "kernels/cpu/recurrent.h"

namespace dptrain::backend::cpu {

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

  /// Everything in front of the steps; the steps.
  virtual kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) = 0;
  virtual kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) = 0;
  /// What comes behind them: gradients of weights and inputs.
  virtual void end_backward(const OpArgs& a) = 0;
  /// Of the steps.
  virtual float* workspace(const OpArgs& a) const = 0;
};

/// `Spec` derives from nn::RecurrentSpec; `Cell`, from this, says what it keeps:
///   Kept keep(kernels::cpu::Room&, bool for_backward) const;
///   std::int64_t more_floats() const;   of scratch, where it wants any for itself
template <class Cell, class Spec>
class RecurrentOp : public RecurrentPasses {
 public:
  plan::Need need() const override {
    kernels::cpu::Room saved(nullptr), scratch(nullptr);
    if (keeps_) cell().keep(saved, true);
    cell().keep(scratch, false);
    rooms(scratch);
    return {.saved = bytes(saved), .scratch = bytes(scratch), .packed = packed_in(nullptr).bytes};
  }
  void prepare(std::int64_t rows) override { inputs_.prepare(rows, valid_); }
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
        has_states_(context.inputs() > 1),
        inputs_(spec, gates, context, static_cast<CpuDevice&>(device)),
        valid_(rows_, inputs_.steps(), context.mask().has_value(), !inputs_.drops_states()),
        recurrent_(inputs_, valid_, gates, rows_, single_gates),
        mask_(context.mask()) {
    inputs_.prepare(rows_, valid_);
    implementation_ = inputs_.name();
  }

  float* workspace(const OpArgs& a) const override { return places(a, false).second.workspace; }

  std::int64_t more_floats() const { return 0; }
  struct Rooms {
    float *inputs, *factors, *more, *valid, *workspace;
  };
  /// What is kept, for backward or in scratch, and the rest of scratch.
  auto places(const OpArgs& a, bool for_backward) const {
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const auto passing = cell().keep(scratch, false);
    return std::pair(for_backward ? cell().keep(saved, true) : passing, rooms(scratch));
  }
  auto places_of_forward(const OpArgs& a) const { return places(a, keeps_ && a.training); }

  /// The sums of the inputs, and what begin_back() finds.
  void begin(const OpArgs& a, float* sums, const Rooms& own) {
    begin_back(a, own);
    inputs_.forward(a, valid_, sums, own.inputs);
  }
  /// Which steps are valid, and the factors of the state where they are dropped.
  void begin_back(const OpArgs& a, const Rooms& own) {
    valid_.find(mask_of(a), a.rows, own.valid);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
  }
  bool wants_recurrent_weights(const OpArgs& a) const {
    return inputs_.wants_weights() && a.weight_gradients[1] != nullptr;
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
  /// `factors`: of the state, where recurrent dropout draws them.
  kernels::cpu::RecurrentSteps steps_of(const OpArgs& a, const float* factors) const {
    kernels::cpu::RecurrentSteps steps{.rows = a.rows,
                                       .steps = inputs_.steps(),
                                       .units = spec_.units,
                                       .backwards = spec_.go_backwards,
                                       .mask = mask_of(a),
                                       .order = valid_.order(),
                                       .places = valid_.places(),
                                       .state_factors = inputs_.drops_state(a) ? factors : nullptr,
                                       .activation = spec_.activation,
                                       .sequences = spec_.return_sequences};
    if constexpr (requires { spec_.recurrent_activation; }) steps.recurrent_activation = spec_.recurrent_activation;
    return steps;
  }
  /// Numbers of one state in all steps.
  std::int64_t all_states() const { return rows_ * inputs_.steps() * spec_.units; }

  const Spec spec_;
  const std::int64_t rows_, gates_, room_;
  const bool keeps_;       ///< for backward
  const bool has_states_;  ///< other layers give the initial state
  RecurrentInputs inputs_;
  ValidSteps valid_;
  RecurrentWeights recurrent_;

 private:
  const std::uint8_t* mask_of(const OpArgs& a) const { return mask_ ? a.in<std::uint8_t>(*mask_) : nullptr; }
  const Cell& cell() const { return static_cast<const Cell&>(*this); }
  static std::uint64_t bytes(const kernels::cpu::Room& room) {
    return static_cast<std::uint64_t>(room.taken()) * sizeof(float);
  }
  Rooms rooms(kernels::cpu::Room& room) const {
    Rooms own{};
    own.inputs = room.take(inputs_.scratch());
    own.factors = room.take(spec_.recurrent_dropout > 0 ? gates_ * rows_ * spec_.units : 0);
    own.more = room.take(cell().more_floats());
    own.valid = room.take(valid_.room());
    // Of the steps, and of the gradient of the recurrent kernel behind them.
    own.workspace = room.take(
        std::max(kernels::cpu::recurrent_workspace(room_, kernels::cpu::thread_count()), recurrent_.workspace()));
    return own;
  }

  std::optional<std::size_t> mask_;
  std::string implementation_;
};

}  // namespace dptrain::backend::cpu
