#include "layers/lstm.h"

#include <algorithm>

#include "device/cpu/recurrent_op.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::device::cpu {
namespace {

constexpr std::int64_t kGates = 4;

/// The inputs' product of all steps, the steps one after the other (kernels/cpu/recurrent.h), and backward the
/// gradients of weights and inputs from the sums' gradients of all steps. Kept for backward: what the kernel keeps, and
/// the initial c.
class LSTMOp final : public RecurrentOp<layers::LSTMSpec> {
 public:
  LSTMOp(const layers::LSTMSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGates, context, device) {}

  plan::Need need() const override {
    kernels::cpu::Room saved(nullptr), scratch(nullptr);
    if (keeps_) keep(saved, true);
    keep(scratch, false);
    rooms(scratch);
    return {.saved = bytes(saved), .scratch = bytes(scratch)};
  }

  void forward(const OpArgs& a) override {
    const bool training = keeps_ && a.training;
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const Kept kept = training ? keep(saved, true) : keep(scratch, false);
    const Rooms own = rooms(scratch);
    inputs_.forward(a, kept.steps.gates, own.inputs);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    if (training && has_states_) kernels::cpu::copy(a.in(2), kept.c0, a.rows * spec_.units);
    const bool states = spec_.return_state;
    kernels::cpu::lstm_forward(steps_of(a, own.factors), a.weights[1], has_states_ ? a.in(1) : nullptr,
                               has_states_ ? a.in(2) : nullptr, kept.steps,
                               {.sequences = spec_.return_sequences,
                                .y = a.out(),
                                .h = states ? a.out(1) : nullptr,
                                .c = states ? a.out(2) : nullptr},
                               own.kernel);
  }

  void backward(const OpArgs& a) override {
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const Kept kept = keep(saved, true);
    keep(scratch, false);
    const Rooms own = rooms(scratch);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    const bool states = spec_.return_state;
    kernels::cpu::lstm_backward(steps_of(a, own.factors), a.weights[1], has_states_ ? kept.c0 : nullptr, kept.steps,
                                {.sequences = spec_.return_sequences,
                                 .y = a.dy(),
                                 .h = states ? a.dy(1) : nullptr,
                                 .c = states ? a.dy(2) : nullptr,
                                 .h0 = has_states_ ? a.dx(1) : nullptr,
                                 .c0 = has_states_ ? a.dx(2) : nullptr},
                                own.kernel);
    if (inputs_.wants_weights() && a.weight_gradients[1] != nullptr)
      recurrent_.differentiate(a, kept.steps.hidden, kept.steps.gates, a.weight_gradients[1], nullptr, own.kernel);
    inputs_.backward(a, kept.steps.gates, own.inputs);
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
    own.kernel = room.take(
        std::max(kernels::cpu::lstm_workspace(spec_.units, kernels::cpu::thread_count()), recurrent_.workspace()));
    return own;
  }
};

const RegisteredOp kCpuLSTM = op<layers::LSTMSpec, LSTMOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
