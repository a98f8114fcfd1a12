// LSTM, GRU, SimpleRNN, Bidirectional and ConvLSTM2D.

#include "kernels/cuda/recurrent.h"
#include "backend/bidirectional.h"
#include "backend/conv_lstm2d.h"
#include "backend/gpu/gpu_op.h"
#include "backend/gpu/recurrent_op.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/elementwise.h"
#include "nn/recurrent.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Saved for backward: the gates, h before and c after each step, activation(c), and the initial c.
class LSTMOp final : public RecurrentCellOp<LSTMOp, nn::LSTMSpec> {
 public:
  LSTMOp(const nn::LSTMSpec& spec, const OpContext& context, Device& device)
      : RecurrentCellOp(spec, 4, context, device) {}

  void forward(const OpArgs& a) override {
    const auto [saved, scratch, own, steps] = start_forward(a);
    multiply_inputs(a, scratch, saved.gates);
    set_state(a, has_states() ? a.inputs[1] : nullptr, scratch.h);
    set_float_state(a, has_states() ? a.inputs[2] : nullptr, scratch.c);
    if (saved.c0 != nullptr) set_float_state(a, a.inputs[2], saved.c0);
    for (std::int64_t s = 0; s < this->steps(); ++s) {
      multiply_state(a, steps, scratch);
      kernel::lstm_step_forward(at(a), type_, steps, s,
                                {.gates = saved.gates,
                                 .products = scratch.products,
                                 .h = scratch.h,
                                 .c = scratch.c,
                                 .hidden = saved.hidden,
                                 .cell = saved.cell,
                                 .squashed = saved.squashed,
                                 .y = a.out<void>()});
    }
    if (!spec_.return_state) return;
    set_state(a, scratch.h, a.out<void>(1));
    device_.from_float(scratch.c, a.out<void>(2), type_, states(a.rows), *a.stream);
  }

  void backward(const OpArgs& a) override {
    const auto [saved, scratch, own, steps] = start(a, true);
    set_float_state(a, spec_.return_state ? a.dy<void>(1) : nullptr, scratch.dh);
    set_float_state(a, spec_.return_state ? a.dy<void>(2) : nullptr, scratch.dc);
    for (std::int64_t s = this->steps() - 1; s >= 0; --s) {
      kernel::lstm_step_backward(at(a), type_, steps, s,
                                 {.gates = saved.gates,
                                  .cell = saved.cell,
                                  .squashed = saved.squashed,
                                  .c0 = saved.c0,
                                  .dy = a.dy<void>(),
                                  .dh = scratch.dh,
                                  .dc = scratch.dc,
                                  .dz = scratch.dz});
      if (s > 0 || has_states()) multiply_back(a, steps, s, false, scratch);
    }
    differentiate_state(a, scratch, saved.hidden, saved.gates);
    differentiate_inputs(a, scratch, saved.gates);
    write_state_gradient(a, 1, scratch.dh);
    write_state_gradient(a, 2, scratch.dc);
  }

  struct SavedTensors {
    void *gates, *hidden;
    float *cell, *squashed, *c0;
  };

  SavedTensors allocate_saved(Parts& parts, bool for_backward) const {
    const std::int64_t all = states(max_rows()) * this->steps();
    SavedTensors saved{};
    saved.gates = parts.take(4 * all, type_);
    if (!for_backward) return saved;
    saved.hidden = parts.take(all, type_);
    saved.cell = parts.floats(all);
    saved.squashed = parts.floats(all);
    if (has_states()) saved.c0 = parts.floats(states(max_rows()));
    return saved;
  }
};

/// Saved for backward: the gates, h before each step, and the candidate's part of it. Without reset_after gates are
/// stored one after the other, because the candidate's product follows those of the gates.
class GRUOp final : public RecurrentCellOp<GRUOp, nn::GRUSpec> {
 public:
  GRUOp(const nn::GRUSpec& spec, const OpContext& context, Device& device)
      : RecurrentCellOp(spec, 3, context, device, !spec.reset_after) {}

  void forward(const OpArgs& a) override {
    const auto [saved, scratch, own, steps] = start_forward(a);
    multiply_inputs(a, scratch, saved.gates);
    set_state(a, has_states() ? a.inputs[1] : nullptr, scratch.h);
    kernel::GruStep step{.reset_after = spec_.reset_after,
                         .gates = saved.gates,
                         .products = scratch.products,
                         .bias = state_bias(a),
                         .h = scratch.h,
                         .hidden = saved.hidden,
                         .inner = saved.inner,
                         .reset = own.reset,
                         .factors = spec_.reset_after ? nullptr : factors_of(a, scratch, 2),
                         .operand = own.operand,
                         .y = a.out<void>()};
    for (std::int64_t s = 0; s < this->steps(); ++s) {
      multiply_state(a, steps, scratch);
      kernel::gru_step_open(at(a), type_, steps, s, step);
      if (!spec_.reset_after)
        multiply_part(a, 2, step.factors == nullptr ? own.reset : own.operand, scratch, scratch.products);
      kernel::gru_step_mix(at(a), type_, steps, s, step);
    }
    if (spec_.return_state) set_state(a, scratch.h, a.out<void>(1));
  }

  void backward(const OpArgs& a) override {
    const auto [saved, scratch, own, steps] = start(a, true);
    set_float_state(a, spec_.return_state ? a.dy<void>(1) : nullptr, scratch.dh);
    const kernel::GruStepBack step{.reset_after = spec_.reset_after,
                                   .gates = saved.gates,
                                   .hidden = saved.hidden,
                                   .inner = saved.inner,
                                   .dy = a.dy<void>(),
                                   .dh = scratch.dh,
                                   .of_z = scratch.c,
                                   .dz = scratch.dz,
                                   .recurrent = own.recurrent,
                                   .products = scratch.products,
                                   .factors = spec_.reset_after ? nullptr : factors_of(a, scratch, 2),
                                   .candidate = own.reset};
    for (std::int64_t s = this->steps() - 1; s >= 0; --s) {
      kernel::gru_step_unmix(at(a), type_, steps, s, step);
      if (!spec_.reset_after) multiply_part_back(a, 2, own.reset, scratch, scratch.products);
      kernel::gru_step_close(at(a), type_, steps, s, step);
      multiply_back(a, steps, s, true, scratch);
    }
    differentiate_weights(a, saved, scratch, own);
    differentiate_inputs(a, scratch, saved.gates);
    write_state_gradient(a, 1, scratch.dh);
  }

  struct SavedTensors {
    void *gates, *hidden, *inner;
  };
  struct CellScratch {
    void *reset, *operand, *recurrent;
  };

  SavedTensors allocate_saved(Parts& parts, bool for_backward) const {
    const std::int64_t all = states(max_rows()) * this->steps();
    SavedTensors saved{};
    saved.gates = parts.take(3 * all, type_);
    if (!for_backward) return saved;
    saved.hidden = parts.take(all, type_);
    saved.inner = parts.take(all, type_);
    return saved;
  }

  CellScratch allocate_cell_scratch(Parts& parts) const {
    CellScratch own{};
    own.reset = parts.take(states(max_rows()), type_);
    own.operand = parts.take(states(max_rows()), type_);
    own.recurrent = parts.take(has_backward() && spec_.reset_after ? 3 * states(max_rows()) * this->steps() : 0, type_);
    return own;
  }

 private:
  void differentiate_weights(const OpArgs& a, const SavedTensors& saved, const CallScratch& scratch,
                             const CellScratch& own) {
    const std::int64_t positions = a.rows * this->steps(), units = spec_.units;
    if (!wants_weights() || a.weight_gradients[1] == nullptr) return;
    if (!spec_.reset_after) {
      differentiate_state(a, scratch, saved.hidden, saved.gates);
      differentiate_state_part(a, scratch, 2, saved.inner, elements(saved.gates, 2 * positions * units));
      return;
    }
    differentiate_state(a, scratch, saved.hidden, own.recurrent);
    if (!spec_.use_bias) return;
    const std::int64_t parts = by_gate(a) ? 3 : 1, columns = 3 * units / parts;
    for (std::int64_t part = 0; part < parts; ++part)
      kernel::bias_gradient(at(a), type_, elements(own.recurrent, part * positions * columns), positions, columns,
                            scratch.bias, a.weight_gradients[2] + 3 * units + part * columns);
  }

  const void* state_bias(const OpArgs& a) const {
    return spec_.reset_after && spec_.use_bias ? elements(a.compute_weights[2], 3 * spec_.units) : nullptr;
  }
};

/// Saved for backward: h before and after each step.
class SimpleRNNOp final : public RecurrentCellOp<SimpleRNNOp, nn::SimpleRNNSpec> {
 public:
  SimpleRNNOp(const nn::SimpleRNNSpec& spec, const OpContext& context, Device& device)
      : RecurrentCellOp(spec, 1, context, device) {}

  void forward(const OpArgs& a) override {
    const auto [saved, scratch, own, steps] = start_forward(a);
    multiply_inputs(a, scratch, saved.sums);
    set_state(a, has_states() ? a.inputs[1] : nullptr, scratch.h);
    for (std::int64_t s = 0; s < this->steps(); ++s) {
      multiply_state(a, steps, scratch);
      kernel::simple_rnn_step_forward(at(a), type_, steps, s,
                                      {.sums = saved.sums,
                                       .products = scratch.products,
                                       .h = scratch.h,
                                       .hidden = saved.hidden,
                                       .squashed = saved.squashed,
                                       .y = a.out<void>()});
    }
    if (spec_.return_state) set_state(a, scratch.h, a.out<void>(1));
  }

  void backward(const OpArgs& a) override {
    const auto [saved, scratch, own, steps] = start(a, true);
    set_float_state(a, spec_.return_state ? a.dy<void>(1) : nullptr, scratch.dh);
    for (std::int64_t s = this->steps() - 1; s >= 0; --s) {
      kernel::simple_rnn_step_backward(
          at(a), type_, steps, s,
          {.sums = saved.sums, .squashed = saved.squashed, .dy = a.dy<void>(), .dh = scratch.dh, .dz = scratch.dz});
      if (s > 0 || has_states()) multiply_back(a, steps, s, false, scratch);
    }
    differentiate_state(a, scratch, saved.hidden, saved.sums);
    differentiate_inputs(a, scratch, saved.sums);
    write_state_gradient(a, 1, scratch.dh);
  }

  struct SavedTensors {
    void *sums, *hidden;
    float* squashed;
  };

  SavedTensors allocate_saved(Parts& parts, bool for_backward) const {
    const std::int64_t all = states(max_rows()) * this->steps();
    SavedTensors saved{};
    saved.sums = parts.take(all, type_);
    if (!for_backward) return saved;
    saved.hidden = parts.take(all, type_);
    saved.squashed = parts.floats(all);
    return saved;
  }
};

class GpuBidirectionalOp final : public BidirectionalOp {
 public:
  GpuBidirectionalOp(const nn::BidirectionalSpec& spec, const OpContext& context, Device& device)
      : BidirectionalOp(spec, context, device), device_(static_cast<GpuDevice&>(device)), type_(context.plan.compute) {}

 protected:
  void run_forward(const Both& both) override {
    for (std::size_t direction = 0; direction < both.size(); ++direction) op(direction).forward(both[direction]);
  }
  void run_backward(const Both& both) override {
    for (std::size_t direction = 0; direction < both.size(); ++direction) op(direction).backward(both[direction]);
  }
  void merge(const OpArgs& a, const kernels::DirectionShape& shape, const void* forward, const void* backward,
             void* y) override {
    kernel::merge_directions(at(a), type_, shape, forward, backward, y);
  }
  void split(const OpArgs& a, const kernels::DirectionShape& shape, const void* dy, const void* forward,
             const void* backward, void* d_forward, void* d_backward) override {
    kernel::split_directions(at(a), type_, shape, dy, forward, backward, d_forward, d_backward);
  }
  void add(const OpArgs& a, const void* x, void* y, std::int64_t n) override {
    device_.accumulate(y, x, type_, n, *a.stream);
  }

 private:
  kernel::Launch at(const OpArgs& a) const { return device_.launch(*a.stream); }

  GpuDevice& device_;
  DType type_;
};

std::vector<int> weight_order(const Device& device, const config::Typed& layer, std::size_t weight) {
  const auto& spec = layer.as<nn::BidirectionalSpec>();
  const std::size_t weights_of_one = nn::recurrent_spec(spec).use_bias ? 3 : 2;
  return device.weight_order(spec.layer, weight % weights_of_one);
}

class GpuConvLSTM2DOp final : public ConvLSTM2DOp {
 public:
  GpuConvLSTM2DOp(const nn::ConvLSTM2DSpec& spec, const OpContext& context, Device& device)
      : ConvLSTM2DOp(spec, context, device) {}

 protected:
  void step_forward(const OpArgs& a, const Step& step) override {
    kernel::lstm_step_forward(launch(a), type_, one_step(step.pixels), 0,
                              {.gates = step.gates,
                               .products = step.products,
                               .h = step.h,
                               .c = step.c,
                               .hidden = nullptr,
                               .cell = step.cell,
                               .squashed = step.squashed,
                               .y = step.y});
  }
  void step_backward(const OpArgs& a, const StepBack& step) override {
    kernel::lstm_step_backward(launch(a), type_, one_step(step.pixels), 0,
                               {.gates = step.gates,
                                .cell = nullptr,
                                .squashed = step.squashed,
                                .c0 = step.before,
                                .dy = step.dy,
                                .dh = step.dh,
                                .dc = step.dc,
                                .dz = step.gates});
  }
  void by_step(const OpArgs& a, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernel::frames_by_step(launch(a), type_, shape, from, to);
  }
  void by_row(const OpArgs& a, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernel::frames_by_row(launch(a), type_, shape, from, to);
  }
  void drop(const OpArgs& a, const Draw& draw, const void* x, std::int64_t positions, std::int64_t width, float*,
            void* y) override {
    const kernel::Dropout dropout{.rate = draw.rate, .seed = seed_, .layer = draw.stream, .first_row = a.first_row};
    kernel::spatial_dropout(launch(a), type_, dropout, a.state, x, a.rows, positions, width, y);
  }
  void copy(const OpArgs& a, const void* x, void* y, std::int64_t n) override {
    kernel::copy(launch(a), type_, x, y, n);
  }

 private:
  kernel::Launch launch(const OpArgs& a) const { return static_cast<GpuDevice&>(device_).launch(*a.stream); }
  /// Treats every pixel as a row with one step.
  kernel::RecurrentSteps one_step(std::int64_t pixels) const {
    return {.rows = pixels,
            .steps = 1,
            .units = spec_.units,
            .gates = 4,
            .activation = spec_.activation,
            .recurrent_activation = spec_.recurrent_activation};
  }
};

const RegisteredOp kLSTM = op<nn::LSTMSpec, LSTMOp>(kKind, {.weight_orders = {{1, 0}, {1, 0}}});
const RegisteredOp kGRU = op<nn::GRUSpec, GRUOp>(kKind, {.weight_orders = {{1, 0}, {1, 0}}});
const RegisteredOp kSimpleRNN = op<nn::SimpleRNNSpec, SimpleRNNOp>(kKind, {.weight_orders = {{1, 0}, {1, 0}}});
const RegisteredOp kBidirectional =
    op<nn::BidirectionalSpec, GpuBidirectionalOp>(kKind, {.weight_order_of = weight_order});
const RegisteredOp kConvLSTM2D =
    op<nn::ConvLSTM2DSpec, GpuConvLSTM2DOp>(kKind, {.weight_order_of = conv_lstm2d_weight_order});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
