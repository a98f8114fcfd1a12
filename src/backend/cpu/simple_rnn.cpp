#include "nn/recurrent.h"

#include "backend/cpu/recurrent_op.h"

namespace dptrain::backend::cpu {
namespace {

class SimpleRNNOp final : public RecurrentOp<SimpleRNNOp, nn::SimpleRNNSpec> {
 public:
  SimpleRNNOp(const nn::SimpleRNNSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, 1, kernels::cpu::simple_rnn_room(spec.units), context, device) {}

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    const auto [kept, own] = places_of_forward(a);
    begin(a, kept.sums, own);
    forward_ = {.steps = steps_of(a, own.factors),
                .kernel = packed_in(a.packed).forward,
                .h0 = has_states_ ? a.in(1) : nullptr,
                .kept = kept,
                .y = a.out(),
                .h = spec_.return_state ? a.out(1) : nullptr};
    return kernels::cpu::simple_rnn_work(forward_);
  }

  kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) override {
    const auto [kept, own] = places(a, true);
    begin_back(a, own);
    backward_ = {.steps = steps_of(a, own.factors),
                 .kernel = packed_in(a.packed).backward,
                 .kept = kept,
                 .y = a.dy(),
                 .h = spec_.return_state ? a.dy(1) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr};
    return kernels::cpu::simple_rnn_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [kept, own] = places(a, true);
    if (wants_recurrent_weights(a))
      recurrent_.differentiate(a, kept.hidden, kept.sums, a.weight_gradients[1], nullptr, own.workspace);
    inputs_.backward(a, valid_, kept.sums, own.inputs);
  }

  kernels::cpu::SimpleRnnKept keep(kernels::cpu::Room& room, bool for_backward) const {
    kernels::cpu::SimpleRnnKept kept{.sums = room.take(all_states())};
    if (for_backward) kept.hidden = room.take(all_states());
    return kept;
  }

 private:
  kernels::cpu::SimpleRnnForward forward_{};
  kernels::cpu::SimpleRnnBackward backward_{};
};

const RegisteredOp kCpuSimpleRNN = op<nn::SimpleRNNSpec, SimpleRNNOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
