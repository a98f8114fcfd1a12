#include "layers/lstm.h"

#include "device/gpu/recurrent_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

/// Kept for backward: the gates, h before and c behind each step, activation(c), and the initial c.
class LSTMOp final : public RecurrentOp {
 public:
  LSTMOp(const layers::LSTMSpec& spec, const OpContext& context, Device& device)
      : RecurrentOp(spec, 4, context, device), spec_(spec) {
    prepare(context.rows);
  }

  plan::Need need() const override {
    Parts saved(nullptr), scratch(nullptr);
    if (keeps()) keep(saved, true);
    keep(scratch, false);
    take_room(scratch);
    return {.saved = saved.taken(), .scratch = scratch.taken()};
  }

  void forward(const OpArgs& a) override {
    const bool training = keeps() && a.training;
    Parts saved(a.saved), scratch(a.scratch);
    const Kept kept = training ? keep(saved, true) : keep(scratch, false);
    const Room room = take_room(scratch);
    draw_factors(a, room);
    const kernel::RecurrentSteps steps = begin_lstm(a, room);
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
    Parts saved(a.saved), scratch(a.scratch);
    const Kept kept = keep(saved, true);
    keep(scratch, false);
    const Room room = take_room(scratch);
    draw_factors(a, room);
    const kernel::RecurrentSteps steps = begin_lstm(a, room);
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
    if (!has_states()) return;
    if (a.input_gradients[1] != nullptr)
      device_.from_float(room.dh, a.input_gradients[1], type_, states(a.rows), *a.stream);
    if (a.input_gradients[2] != nullptr)
      device_.from_float(room.dc, a.input_gradients[2], type_, states(a.rows), *a.stream);
  }

 private:
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

  kernel::RecurrentSteps begin_lstm(const OpArgs& a, const Room& room) const {
    kernel::RecurrentSteps steps = begin(a, room);
    steps.recurrent_activation = spec_.recurrent_activation;
    return steps;
  }

  layers::LSTMSpec spec_;
};

const RegisteredOp kLSTM = op<layers::LSTMSpec, LSTMOp>(kKind, {.weight_orders = {{1, 0}, {1, 0}}});

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
