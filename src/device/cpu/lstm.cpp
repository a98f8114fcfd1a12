#include "layers/lstm.h"

#include "device/cpu/recurrent_op.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::device::cpu {
namespace {

constexpr std::int64_t kGates = 4;

/// Kept for backward: what the kernel keeps, and the initial c.
class LSTMOp final : public RecurrentOp<layers::LSTMSpec> {
 public:
  LSTMOp(const layers::LSTMSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGates, kernels::cpu::lstm_room(spec.units), context, device) {}

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
    const Kept kept = training ? keep(saved, true) : keep(scratch, false);
    const Rooms own = rooms(scratch);
    inputs_.forward(a, kept.steps.gates, own.inputs);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    if (training && has_states_) kernels::cpu::copy(a.in(2), kept.c0, a.rows * spec_.units);
    const bool states = spec_.return_state;
    forward_ = {.steps = lstm_steps(a, own.factors),
                .kernel = packed_in(a.packed).forward,
                .h0 = has_states_ ? a.in(1) : nullptr,
                .c0 = has_states_ ? a.in(2) : nullptr,
                .kept = kept.steps,
                .y = a.out(),
                .h = states ? a.out(1) : nullptr,
                .c = states ? a.out(2) : nullptr};
    return kernels::cpu::lstm_work(forward_);
  }

  kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) override {
    const auto [kept, own] = for_backward(a);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    const bool states = spec_.return_state;
    backward_ = {.steps = lstm_steps(a, own.factors),
                 .kernel = packed_in(a.packed).backward,
                 .c0 = has_states_ ? kept.c0 : nullptr,
                 .kept = kept.steps,
                 .y = a.dy(),
                 .h = states ? a.dy(1) : nullptr,
                 .c = states ? a.dy(2) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr,
                 .dc0 = has_states_ ? a.dx(2) : nullptr};
    return kernels::cpu::lstm_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [kept, own] = for_backward(a);
    if (inputs_.wants_weights() && a.weight_gradients[1] != nullptr)
      recurrent_.differentiate(a, kept.steps.hidden, kept.steps.gates, a.weight_gradients[1], nullptr, own.kernel);
    inputs_.backward(a, kept.steps.gates, own.inputs);
  }

  float* workspace(const OpArgs& a) const override {
    kernels::cpu::Room scratch(static_cast<float*>(a.scratch));
    keep(scratch, false);
    return rooms(scratch).kernel;
  }

 private:
  struct Kept {
    kernels::cpu::LstmKept steps;
    float* c0;
  };
  struct Rooms {
    float *inputs, *factors, *kernel;
  };

  Kept keep(kernels::cpu::Room& room, bool for_backward) const {
    const std::int64_t states = rows_ * inputs_.steps() * spec_.units;
    Kept kept{};
    kept.steps.gates = room.take(kGates * states);
    if (!for_backward) return kept;
    kept.steps.hidden = room.take(states);
    kept.steps.cell = room.take(states);
    kept.steps.squashed = room.take(states);
    kept.c0 = room.take(has_states_ ? rows_ * spec_.units : 0);
    return kept;
  }

  Rooms rooms(kernels::cpu::Room& room) const {
    Rooms own{};
    own.inputs = room.take(inputs_.scratch());
    own.factors = room.take(spec_.recurrent_dropout > 0 ? kGates * rows_ * spec_.units : 0);
    own.kernel = room.take(workspace_floats());
    return own;
  }

  std::pair<Kept, Rooms> for_backward(const OpArgs& a) const {
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const Kept kept = keep(saved, true);
    keep(scratch, false);
    return {kept, rooms(scratch)};
  }

  kernels::cpu::RecurrentSteps lstm_steps(const OpArgs& a, const float* factors) const {
    kernels::cpu::RecurrentSteps steps = steps_of(a, factors);
    steps.recurrent_activation = spec_.recurrent_activation;
    return steps;
  }

  kernels::cpu::LstmForward forward_{};
  kernels::cpu::LstmBackward backward_{};
};

const RegisteredOp kCpuLSTM = op<layers::LSTMSpec, LSTMOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
