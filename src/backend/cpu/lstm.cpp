#include "nn/recurrent.h"

#include "backend/cpu/recurrent_op.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

constexpr std::int64_t kGates = 4;

/// Kept for backward: what the kernel keeps, and the initial c.
class LSTMOp final : public RecurrentOp<LSTMOp, nn::LSTMSpec> {
 public:
  LSTMOp(const nn::LSTMSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGates, kernels::cpu::lstm_room(spec.units), context, device) {}

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    const auto [kept, own] = places_of_forward(a);
    begin(a, kept.steps.gates, own);
    if (kept.c0 != nullptr) kernels::cpu::copy({}, DType::kF32, a.in(2), kept.c0, a.rows * spec_.units);
    const bool states = spec_.return_state;
    forward_ = {.steps = steps_of(a, own.factors),
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
    const auto [kept, own] = places(a, true);
    begin_back(a, own);
    const bool states = spec_.return_state;
    backward_ = {.steps = steps_of(a, own.factors),
                 .kernel = packed_in(a.packed).backward,
                 .c0 = kept.c0,
                 .kept = kept.steps,
                 .y = a.dy(),
                 .h = states ? a.dy(1) : nullptr,
                 .c = states ? a.dy(2) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr,
                 .dc0 = has_states_ ? a.dx(2) : nullptr};
    return kernels::cpu::lstm_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [kept, own] = places(a, true);
    if (wants_recurrent_weights(a))
      recurrent_.differentiate(a, kept.steps.hidden, kept.steps.gates, a.weight_gradients[1], nullptr, own.workspace);
    inputs_.backward(a, valid_, kept.steps.gates, own.inputs);
  }

  struct Kept {
    kernels::cpu::LstmKept steps;
    float* c0;  ///< null: zeros, or not wanted
  };
  Kept keep(kernels::cpu::Room& room, bool for_backward) const {
    Kept kept{};
    kept.steps.gates = room.take(kGates * all_states());
    if (!for_backward) return kept;
    kept.steps.hidden = room.take(all_states());
    kept.steps.cell = room.take(all_states());
    kept.steps.squashed = room.take(all_states());
    if (has_states_) kept.c0 = room.take(rows_ * spec_.units);
    return kept;
  }

 private:
  kernels::cpu::LstmForward forward_{};
  kernels::cpu::LstmBackward backward_{};
};

const RegisteredOp kCpuLSTM = op<nn::LSTMSpec, LSTMOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
