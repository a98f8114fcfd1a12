#include "nn/recurrent.h"

#include "backend/gpu/recurrent_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Kept for backward: the gates, h before and c behind each step, activation(c), and the initial c.
class LSTMOp final : public RecurrentCellOp<LSTMOp, nn::LSTMSpec> {
 public:
  LSTMOp(const nn::LSTMSpec& spec, const OpContext& context, Device& device)
      : RecurrentCellOp(spec, 4, context, device) {}

  void forward(const OpArgs& a) override {
    const auto [kept, room, own, steps] = start_forward(a);
    multiply_inputs(a, room, kept.gates);
    set_state(a, has_states() ? a.inputs[1] : nullptr, room.h);
    set_float_state(a, has_states() ? a.inputs[2] : nullptr, room.c);
    if (kept.c0 != nullptr) set_float_state(a, a.inputs[2], kept.c0);
    for (std::int64_t s = 0; s < this->steps(); ++s) {
      multiply_state(a, steps, room);
      kernel::lstm_step_forward(at(a), type_, steps, s,
                                {.gates = kept.gates,
                                 .products = room.products,
                                 .h = room.h,
                                 .c = room.c,
                                 .hidden = kept.hidden,
                                 .cell = kept.cell,
                                 .squashed = kept.squashed,
                                 .y = a.out<void>()});
    }
    if (!spec_.return_state) return;
    set_state(a, room.h, a.out<void>(1));
    device_.from_float(room.c, a.out<void>(2), type_, states(a.rows), *a.stream);
  }

  void backward(const OpArgs& a) override {
    const auto [kept, room, own, steps] = start(a, true);
    set_float_state(a, spec_.return_state ? a.dy<void>(1) : nullptr, room.dh);
    set_float_state(a, spec_.return_state ? a.dy<void>(2) : nullptr, room.dc);
    for (std::int64_t s = this->steps() - 1; s >= 0; --s) {
      kernel::lstm_step_backward(at(a), type_, steps, s,
                                 {.gates = kept.gates,
                                  .cell = kept.cell,
                                  .squashed = kept.squashed,
                                  .c0 = kept.c0,
                                  .dy = a.dy<void>(),
                                  .dh = room.dh,
                                  .dc = room.dc,
                                  .dz = room.dz});
      if (s > 0 || has_states()) multiply_back(a, steps, s, false, room);
    }
    differentiate_state(a, room, kept.hidden, kept.gates);
    differentiate_inputs(a, room, kept.gates);
    give_state_gradient(a, 1, room.dh);
    give_state_gradient(a, 2, room.dc);
  }

  struct Kept {
    void *gates, *hidden;
    float *cell, *squashed, *c0;
  };

  Kept keep(Parts& parts, bool for_backward) const {
    const std::int64_t all = states(most_rows()) * this->steps();
    Kept kept{};
    kept.gates = parts.take(4 * all, type_);
    if (!for_backward) return kept;
    kept.hidden = parts.take(all, type_);
    kept.cell = parts.floats(all);
    kept.squashed = parts.floats(all);
    if (has_states()) kept.c0 = parts.floats(states(most_rows()));
    return kept;
  }
};

const RegisteredOp kLSTM = op<nn::LSTMSpec, LSTMOp>(kKind, {.weight_orders = {{1, 0}, {1, 0}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
