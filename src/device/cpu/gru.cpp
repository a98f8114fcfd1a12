#include "layers/gru.h"

#include <algorithm>

#include "device/cpu/recurrent_op.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::device::cpu {
namespace {

constexpr std::int64_t kGruBlocks = 3;

/// As LSTMOp. With reset_after the sums of inputs and of states have gradients of their own, those of states in
/// scratch.
class GRUOp final : public RecurrentOp<layers::GRUSpec> {
 public:
  GRUOp(const layers::GRUSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, kGruBlocks, context, device, !spec.reset_after) {}

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
    const kernels::cpu::GruKept kept = training ? keep(saved, true) : keep(scratch, false);
    const Rooms own = rooms(scratch);
    inputs_.forward(a, kept.gates, own.inputs);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    kernels::cpu::gru_forward(
        steps_of(a, own.factors), weights_of(a), has_states_ ? a.in(1) : nullptr, kept,
        {.sequences = spec_.return_sequences, .y = a.out(), .h = spec_.return_state ? a.out(1) : nullptr}, own.kernel);
  }

  void backward(const OpArgs& a) override {
    kernels::cpu::Room saved(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const kernels::cpu::GruKept kept = keep(saved, true);
    keep(scratch, false);
    const Rooms own = rooms(scratch);
    if (inputs_.drops_state(a)) inputs_.draw_state_factors(a, own.factors);
    kernels::cpu::gru_backward(steps_of(a, own.factors), weights_of(a), kept,
                               {.sequences = spec_.return_sequences,
                                .y = a.dy(),
                                .h = spec_.return_state ? a.dy(1) : nullptr,
                                .h0 = has_states_ ? a.dx(1) : nullptr,
                                .recurrent = own.recurrent},
                               own.kernel);
    if (inputs_.wants_weights() && a.weight_gradients[1] != nullptr) differentiate_weights(a, kept, own);
    inputs_.backward(a, kept.gates, own.inputs);
  }

 private:
  struct Rooms {
    float *inputs, *factors, *recurrent, *kernel;
  };

  void differentiate_weights(const OpArgs& a, const kernels::cpu::GruKept& kept, const Rooms& own) const {
    if (spec_.reset_after) {
      float* const bias = spec_.use_bias ? a.weight_gradients[2] + kGruBlocks * spec_.units : nullptr;
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
    own.kernel = room.take(
        std::max(kernels::cpu::gru_workspace(spec_.units, kernels::cpu::thread_count()), recurrent_.workspace()));
    return own;
  }

  kernels::cpu::GruWeights weights_of(const OpArgs& a) const {
    return {.reset_after = spec_.reset_after,
            .kernel = a.weights[1],
            .bias = spec_.reset_after && spec_.use_bias ? a.weights[2] + kGruBlocks * spec_.units : nullptr};
  }
};

const RegisteredOp kCpuGRU = op<layers::GRUSpec, GRUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
