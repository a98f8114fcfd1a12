#include "nn/recurrent.h"

#include "backend/gpu/recurrent_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Kept for backward: h before and behind each step.
class SimpleRNNOp final : public RecurrentCellOp<SimpleRNNOp, nn::SimpleRNNSpec> {
 public:
  SimpleRNNOp(const nn::SimpleRNNSpec& spec, const OpContext& context, Device& device)
      : RecurrentCellOp(spec, 1, context, device) {}

  void forward(const OpArgs& a) override {
    const auto [kept, room, own, steps] = start_forward(a);
    multiply_inputs(a, room, kept.sums);
    set_state(a, has_states() ? a.inputs[1] : nullptr, room.h);
    for (std::int64_t s = 0; s < this->steps(); ++s) {
      multiply_state(a, steps, room);
      kernel::simple_rnn_step_forward(at(a), type_, steps, s,
                                      {.sums = kept.sums,
                                       .products = room.products,
                                       .h = room.h,
                                       .hidden = kept.hidden,
                                       .squashed = kept.squashed,
                                       .y = a.out<void>()});
    }
    if (spec_.return_state) set_state(a, room.h, a.out<void>(1));
  }

  void backward(const OpArgs& a) override {
    const auto [kept, room, own, steps] = start(a, true);
    set_float_state(a, spec_.return_state ? a.dy<void>(1) : nullptr, room.dh);
    for (std::int64_t s = this->steps() - 1; s >= 0; --s) {
      kernel::simple_rnn_step_backward(
          at(a), type_, steps, s,
          {.sums = kept.sums, .squashed = kept.squashed, .dy = a.dy<void>(), .dh = room.dh, .dz = room.dz});
      if (s > 0 || has_states()) multiply_back(a, steps, s, false, room);
    }
    differentiate_state(a, room, kept.hidden, kept.sums);
    differentiate_inputs(a, room, kept.sums);
    give_state_gradient(a, 1, room.dh);
  }

  struct Kept {
    void *sums, *hidden;
    float* squashed;
  };

  Kept keep(Parts& parts, bool for_backward) const {
    const std::int64_t all = states(most_rows()) * this->steps();
    Kept kept{};
    kept.sums = parts.take(all, type_);
    if (!for_backward) return kept;
    kept.hidden = parts.take(all, type_);
    kept.squashed = parts.floats(all);
    return kept;
  }
};

const RegisteredOp kSimpleRNN = op<nn::SimpleRNNSpec, SimpleRNNOp>(kKind, {.weight_orders = {{1, 0}, {1, 0}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
