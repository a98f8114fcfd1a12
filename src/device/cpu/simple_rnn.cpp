#include "layers/simple_rnn.h"

#include "device/cpu/recurrent_op.h"

namespace dptrain::device::cpu {
namespace {

class SimpleRNNOp final : public RecurrentOp<layers::SimpleRNNSpec> {
 public:
  SimpleRNNOp(const layers::SimpleRNNSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, 1, kernels::cpu::simple_rnn_room(spec.units), context, device) {}

  plan::Need need() const override {
    kernels::cpu::Room saved(nullptr), scratch(nullptr);
    if (keeps_) keep(saved, true);
    keep(scratch, false);
    rooms(scratch);
    return {.saved = bytes(saved), .scratch = bytes(scratch), .packed = packed_in(nullptr).bytes};
  }

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const bool training = keeps_ && a.training;
    const kernels::cpu::SimpleRnnKept kept = training ? keep(saved, true) : keep(scratch, false);
    const Rooms own = rooms(scratch);
    inputs_.forward(a, kept.sums, own.inputs);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    forward_ = {.steps = steps_of(a, own.factors),
                .kernel = packed_in(a.packed).forward,
                .h0 = has_states_ ? a.in(1) : nullptr,
                .kept = kept,
                .y = a.out(),
                .h = spec_.return_state ? a.out(1) : nullptr};
    return kernels::cpu::simple_rnn_work(forward_);
  }

  kernels::cpu::RecurrentWork begin_backward(const OpArgs& a) override {
    const auto [kept, own] = for_backward(a);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    backward_ = {.steps = steps_of(a, own.factors),
                 .kernel = packed_in(a.packed).backward,
                 .kept = kept,
                 .y = a.dy(),
                 .h = spec_.return_state ? a.dy(1) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr};
    return kernels::cpu::simple_rnn_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [kept, own] = for_backward(a);
    if (inputs_.wants_weights() && a.weight_gradients[1] != nullptr)
      recurrent_.differentiate(a, kept.hidden, kept.sums, a.weight_gradients[1], nullptr, own.kernel);
    inputs_.backward(a, kept.sums, own.inputs);
  }

  float* workspace(const OpArgs& a) const override {
    kernels::cpu::Room scratch(static_cast<float*>(a.scratch));
    keep(scratch, false);
    return rooms(scratch).kernel;
  }

 private:
  struct Rooms {
    float *inputs, *factors, *kernel;
  };

  kernels::cpu::SimpleRnnKept keep(kernels::cpu::Room& room, bool for_backward) const {
    const std::int64_t states = rows_ * inputs_.steps() * spec_.units;
    kernels::cpu::SimpleRnnKept kept{};
    kept.sums = room.take(states);
    if (for_backward) kept.hidden = room.take(states);
    return kept;
  }

  Rooms rooms(kernels::cpu::Room& room) const {
    Rooms own{};
    own.inputs = room.take(inputs_.scratch());
    own.factors = room.take(spec_.recurrent_dropout > 0 ? rows_ * spec_.units : 0);
    own.kernel = room.take(workspace_floats());
    return own;
  }

  std::pair<kernels::cpu::SimpleRnnKept, Rooms> for_backward(const OpArgs& a) const {
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const kernels::cpu::SimpleRnnKept kept = keep(saved, true);
    keep(scratch, false);
    return {kept, rooms(scratch)};
  }

  kernels::cpu::SimpleRnnForward forward_{};
  kernels::cpu::SimpleRnnBackward backward_{};
};

const RegisteredOp kCpuSimpleRNN = op<layers::SimpleRNNSpec, SimpleRNNOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
