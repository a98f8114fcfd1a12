#include "nn/recurrent.h"

#include "backend/cpu/recurrent_op.h"

namespace dptrain::backend::cpu {
namespace {

constexpr std::int64_t kGruBlocks = 3;

/// As LSTMOp. With reset_after the sums of inputs and of states have gradients of their own, those of states in
/// scratch.
class GRUOp final : public RecurrentOp<GRUOp, nn::GRUSpec> {
 public:
  GRUOp(const nn::GRUSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGruBlocks, kernels::cpu::gru_room(spec.units), context, device, !spec.reset_after) {}

  kernels::cpu::RecurrentWork begin_forward(const OpArgs& a) override {
    const auto [kept, own] = places_of_forward(a);
    begin(a, kept.gates, own);
    forward_ = {.steps = steps_of(a, own.factors),
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
    const auto [kept, own] = places(a, true);
    begin_back(a, own);
    backward_ = {.steps = steps_of(a, own.factors),
                 .reset_after = spec_.reset_after,
                 .kernel = packed_in(a.packed).backward,
                 .kept = kept,
                 .y = a.dy(),
                 .h = spec_.return_state ? a.dy(1) : nullptr,
                 .dh0 = has_states_ ? a.dx(1) : nullptr,
                 .recurrent = own.more};
    return kernels::cpu::gru_work(backward_);
  }

  void end_backward(const OpArgs& a) override {
    const auto [kept, own] = places(a, true);
    if (wants_recurrent_weights(a)) differentiate_weights(a, kept, own);
    inputs_.backward(a, valid_, kept.gates, own.inputs);
  }

  kernels::cpu::GruKept keep(kernels::cpu::Room& room, bool for_backward) const {
    kernels::cpu::GruKept kept{.gates = room.take(kGruBlocks * all_states())};
    if (!for_backward) return kept;
    kept.hidden = room.take(all_states());
    kept.inner = room.take(all_states());
    return kept;
  }
  /// The gradients of the states' sums.
  std::int64_t more_floats() const { return keeps_ && spec_.reset_after ? kGruBlocks * all_states() : 0; }

 private:
  void differentiate_weights(const OpArgs& a, const kernels::cpu::GruKept& kept, const Rooms& own) const {
    if (spec_.reset_after) {
      float* const bias = has_state_bias() ? a.weight_gradients[2] + kGruBlocks * spec_.units : nullptr;
      return recurrent_.differentiate(a, kept.hidden, own.more, a.weight_gradients[1], bias, own.workspace);
    }
    recurrent_.differentiate(a, kept.hidden, kept.gates, a.weight_gradients[1], nullptr, own.workspace);
    recurrent_.differentiate_gate(a, 2, kept.inner, kept.gates, a.weight_gradients[1], nullptr, own.workspace);
  }

  bool has_state_bias() const { return spec_.reset_after && spec_.use_bias; }

  kernels::cpu::GruForward forward_{};
  kernels::cpu::GruBackward backward_{};
};

const RegisteredOp kCpuGRU = op<nn::GRUSpec, GRUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
