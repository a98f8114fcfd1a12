#include "layers/gru.h"

#include "device/cpu/recurrent_op.h"

namespace dptrain::device::cpu {
namespace {

constexpr std::int64_t kGruBlocks = 3;

/// As LSTMOp. With reset_after the sums of inputs and of states have gradients of their own, those of states in
/// scratch.
class GRUOp final : public RecurrentOp<layers::GRUSpec> {
 public:
  GRUOp(const layers::GRUSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGruBlocks, kernels::cpu::gru_room(spec.units), context, device, !spec.reset_after) {}

  plan::Need need() const override {
    kernels::cpu::Room saved(nullptr), scratch(nullptr);
    if (keeps_) keep(saved, true);
    keep(scratch, false);
    rooms(scratch);
    return {.saved = bytes(saved), .scratch = bytes(scratch), .packed = packed_in(nullptr).bytes};
  }

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    const bool training = keeps_ && a.training;
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const kernels::cpu::GruKept kept = training ? keep(saved, true) : keep(scratch, false);
    const Rooms own = rooms(scratch);
    inputs_.forward(a, kept.gates, own.inputs);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    forward_ = {.steps = gru_steps(a, own.factors),
                .reset_after = spec_.reset_after,
                .kernel = packed_in(a.packed).forward,
                .bias = has_state_bias() ? a.weights[2] + kGruBlocks * spec_.units : nullptr,
                .h0 = has_states_ ? a.in(1) : nullptr,
                .kept = kept,
                .y = a.out(),
                .h = spec_.return_state ? a.out(1) : nullptr};
    return kernels::cpu::gru_work(forward_);
  }

  kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) override {
    const auto [kept, own] = for_backward(a);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    backward_ = {.steps = gru_steps(a, own.factors),
                 .reset_after = spec_.reset_after,
                 .kernel = packed_in(a.packed).backward,
                 .kept = kept,
                 .y = a.dy(),
                 .h = spec_.return_state ? a.dy(1) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr,
                 .recurrent = own.recurrent};
    return kernels::cpu::gru_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [kept, own] = for_backward(a);
    if (inputs_.wants_weights() && a.weight_gradients[1] != nullptr) differentiate_weights(a, kept, own);
    inputs_.backward(a, kept.gates, own.inputs);
  }

  float* workspace(const OpArgs& a) const override {
    kernels::cpu::Room scratch(static_cast<float*>(a.scratch));
    keep(scratch, false);
    return rooms(scratch).kernel;
  }

 private:
  struct Rooms {
    float *inputs, *factors, *recurrent, *kernel;
  };

  void differentiate_weights(const OpArgs& a, const kernels::cpu::GruKept& kept, const Rooms& own) const {
    if (spec_.reset_after) {
      float* const bias = has_state_bias() ? a.weight_gradients[2] + kGruBlocks * spec_.units : nullptr;
      return recurrent_.differentiate(a, kept.hidden, own.recurrent, a.weight_gradients[1], bias, own.kernel);
    }
    recurrent_.differentiate(a, kept.hidden, kept.gates, a.weight_gradients[1], nullptr, own.kernel);
    recurrent_.differentiate_gate(a, 2, kept.inner, kept.gates, a.weight_gradients[1], nullptr, own.kernel);
  }

  kernels::cpu::GruKept keep(kernels::cpu::Room& room, bool for_backward) const {
    const std::int64_t states = rows_ * inputs_.steps() * spec_.units;
    kernels::cpu::GruKept kept{.gates = room.take(kGruBlocks * states)};
    if (!for_backward) return kept;
    kept.hidden = room.take(states);
    kept.inner = room.take(states);
    return kept;
  }

  Rooms rooms(kernels::cpu::Room& room) const {
    Rooms own{};
    own.inputs = room.take(inputs_.scratch());
    own.factors = room.take(spec_.recurrent_dropout > 0 ? kGruBlocks * rows_ * spec_.units : 0);
    own.recurrent = room.take(keeps_ && spec_.reset_after ? kGruBlocks * rows_ * inputs_.steps() * spec_.units : 0);
    own.kernel = room.take(workspace_floats());
    return own;
  }

  std::pair<kernels::cpu::GruKept, Rooms> for_backward(const OpArgs& a) const {
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const kernels::cpu::GruKept kept = keep(saved, true);
    keep(scratch, false);
    return {kept, rooms(scratch)};
  }

  bool has_state_bias() const { return spec_.reset_after && spec_.use_bias; }
  kernels::cpu::RecurrentSteps gru_steps(const OpArgs& a, const float* factors) const {
    kernels::cpu::RecurrentSteps steps = steps_of(a, factors);
    steps.recurrent_activation = spec_.recurrent_activation;
    return steps;
  }

  kernels::cpu::GruForward forward_{};
  kernels::cpu::GruBackward backward_{};
};

const RegisteredOp kCpuGRU = op<layers::GRUSpec, GRUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
