#include "nn/recurrent.h"

#include "backend/gpu/recurrent_op.h"
#include "kernels/cuda/bias.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Kept for backward: the gates, h before each step, and the candidate's part of it. Without reset_after sums stand
/// gate by gate, for the candidate's product comes behind the gates'.
class GRUOp final : public RecurrentCellOp<GRUOp, nn::GRUSpec> {
 public:
  GRUOp(const nn::GRUSpec& spec, const OpContext& context, Device& device)
      : RecurrentCellOp(spec, 3, context, device, !spec.reset_after) {}

  void forward(const OpArgs& a) override {
    const auto [kept, room, own, steps] = start_forward(a);
    multiply_inputs(a, room, kept.gates);
    set_state(a, has_states() ? a.inputs[1] : nullptr, room.h);
    kernel::GruStep step{.reset_after = spec_.reset_after,
                         .gates = kept.gates,
                         .products = room.products,
                         .bias = state_bias(a),
                         .h = room.h,
                         .hidden = kept.hidden,
                         .inner = kept.inner,
                         .reset = own.reset,
                         .factors = spec_.reset_after ? nullptr : factors_of(a, room, 2),
                         .operand = own.operand,
                         .y = a.out<void>()};
    for (std::int64_t s = 0; s < this->steps(); ++s) {
      multiply_state(a, steps, room);
      kernel::gru_step_open(at(a), type_, steps, s, step);
      if (!spec_.reset_after)
        multiply_gate(a, 2, step.factors == nullptr ? own.reset : own.operand, room, room.products);
      kernel::gru_step_mix(at(a), type_, steps, s, step);
    }
    if (spec_.return_state) set_state(a, room.h, a.out<void>(1));
  }

  void backward(const OpArgs& a) override {
    const auto [kept, room, own, steps] = start(a, true);
    set_float_state(a, spec_.return_state ? a.dy<void>(1) : nullptr, room.dh);
    const kernel::GruStepBack step{.reset_after = spec_.reset_after,
                                   .gates = kept.gates,
                                   .hidden = kept.hidden,
                                   .inner = kept.inner,
                                   .dy = a.dy<void>(),
                                   .dh = room.dh,
                                   .of_z = room.c,
                                   .dz = room.dz,
                                   .recurrent = own.recurrent,
                                   .products = room.products,
                                   .factors = spec_.reset_after ? nullptr : factors_of(a, room, 2),
                                   .candidate = own.reset};
    for (std::int64_t s = this->steps() - 1; s >= 0; --s) {
      kernel::gru_step_unmix(at(a), type_, steps, s, step);
      if (!spec_.reset_after) multiply_gate_back(a, 2, own.reset, room, room.products);
      kernel::gru_step_close(at(a), type_, steps, s, step);
      multiply_back(a, steps, s, true, room);
    }
    differentiate_weights(a, kept, room, own);
    differentiate_inputs(a, room, kept.gates);
    give_state_gradient(a, 1, room.dh);
  }

  struct Kept {
    void *gates, *hidden, *inner;
  };
  struct Own {
    void *reset, *operand, *recurrent;
  };

  Kept keep(Parts& parts, bool for_backward) const {
    const std::int64_t all = states(most_rows()) * this->steps();
    Kept kept{};
    kept.gates = parts.take(3 * all, type_);
    if (!for_backward) return kept;
    kept.hidden = parts.take(all, type_);
    kept.inner = parts.take(all, type_);
    return kept;
  }

  Own take_own(Parts& parts) const {
    Own own{};
    own.reset = parts.take(states(most_rows()), type_);
    own.operand = parts.take(states(most_rows()), type_);
    own.recurrent = parts.take(keeps() && spec_.reset_after ? 3 * states(most_rows()) * this->steps() : 0, type_);
    return own;
  }

 private:
  void differentiate_weights(const OpArgs& a, const Kept& kept, const Room& room, const Own& own) {
    const std::int64_t positions = a.rows * this->steps(), units = spec_.units;
    if (!wants_weights() || a.weight_gradients[1] == nullptr) return;
    if (!spec_.reset_after) {
      differentiate_state(a, room, kept.hidden, kept.gates);
      differentiate_state_part(a, room, 2, kept.inner, elements(kept.gates, 2 * positions * units));
      return;
    }
    differentiate_state(a, room, kept.hidden, own.recurrent);
    if (!spec_.use_bias) return;
    const std::int64_t parts = by_gate(a) ? 3 : 1, columns = 3 * units / parts;
    for (std::int64_t part = 0; part < parts; ++part)
      kernel::bias_gradient(at(a), type_, elements(own.recurrent, part * positions * columns), positions, columns,
                            room.bias, a.weight_gradients[2] + 3 * units + part * columns);
  }

  const void* state_bias(const OpArgs& a) const {
    return spec_.reset_after && spec_.use_bias ? elements(a.compute_weights[2], 3 * spec_.units) : nullptr;
  }
};

const RegisteredOp kGRU = op<nn::GRUSpec, GRUOp>(kKind, {.weight_orders = {{1, 0}, {1, 0}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
