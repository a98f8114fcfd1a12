#include "backend/conv_lstm2d.h"

#include <algorithm>

#include "backend/parts.h"
#include "core/random.h"
#include "nn/convolutions.h"

namespace dptrain::backend {

ConvLSTM2DOp::ConvLSTM2DOp(const nn::ConvLSTM2DSpec& spec, const OpContext& context, Device& device)
    : spec_(spec),
      device_(device),
      type_(context.plan.compute),
      seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
      stream_(context.stream_id),
      rows_(context.rows),
      steps_(context.input(0)[0]),
      channels_(context.input(0)[3]),
      units_(spec.units),
      has_backward_(context.step.has_backward),
      has_states_(context.step.inputs.size() > 1),
      wants_dx_(context.wants_dx()),
      wants_weights_(context.trains()) {
  const Shape in = context.input(0), out = context.output(0);
  const int first = out.rank() == 4 ? 1 : 0;
  const std::int64_t height = out[first], width = out[first + 1];
  frame_ = in[1] * in[2];
  pixels_ = height * width;
  convolutions_.compute = type_;
  for (const Shape& shape : {Shape{in[1], in[2], input_groups() * channels_}, Shape{height, width, kGates * units_},
                             Shape{height, width, state_groups() * units_}})
    convolutions_.tensors.push_back({.name = context.step.name, .shape = shape, .type = type_});
  inputs_ = conv(context, nn::input_convolution(spec, input_groups()), 0, 1, wants_dx_, wants_weights_, rows_ * steps_);
  const nn::Conv2DSpec of_state = nn::state_convolution(spec, state_groups());
  // A step's tensor begins after those of earlier steps, so it has only this alignment.
  state_ = conv(context, of_state, 2, 1, has_backward_, false, rows_, alignment_of(pixels_ * units_, type_));
  if (wants_weights_) weights_ = conv(context, of_state, 2, 1, false, true, rows_ * steps_);
}

ConvLSTM2DOp::Conv ConvLSTM2DOp::conv(const OpContext& context, const nn::Conv2DSpec& spec, int input, int output,
                                      bool wants_dx, bool wants_weights, std::int64_t rows, int alignment) {
  Conv made;
  made.step = {.name = context.step.name, .node = context.step.node, .spec = nn::layer_family().make(spec)};
  made.step.inputs = {input};
  made.step.outputs = {output};
  made.step.has_backward = wants_dx || wants_weights;
  made.step.output_gradients = {output};
  made.step.input_gradients = {wants_dx ? input : plan::kAbsent};
  made.step.parameters.assign(spec.use_bias ? 2 : 1, plan::kAbsent);
  made.step.parameter_gradients.assign(made.step.parameters.size(), wants_weights);
  made.op = device_.make_op({.plan = convolutions_,
                             .step = made.step,
                             .rows = rows,
                             .seed = context.seed,
                             .stream_id = context.stream_id,
                             .replicas = context.replicas,
                             .alignment = alignment});
  return made;
}

void ConvLSTM2DOp::prepare(std::int64_t rows) {
  inputs_.op->prepare(rows * steps_);
  state_.op->prepare(rows);
  if (weights_.op) weights_.op->prepare(rows * steps_);
}

plan::Need ConvLSTM2DOp::need() const {
  const Buffers all = make_buffers(nullptr, nullptr, has_backward_);
  return {.saved = all.saved, .scratch = std::max(all.scratch, make_buffers(nullptr, nullptr, false).scratch)};
}

std::string ConvLSTM2DOp::implementation() const {
  return "inputs " + inputs_.op->implementation() + "; state " + state_.op->implementation();
}

std::pair<double, double> ConvLSTM2DOp::flops_per_sample() const {
  const auto inputs = inputs_.op->flops_per_sample(), state = state_.op->flops_per_sample();
  const double steps = static_cast<double>(steps_), weights = weights_.op ? weights_.op->flops_per_sample().second : 0;
  return {steps * (inputs.first + state.first), steps * (inputs.second + state.second + weights)};
}

ConvLSTM2DOp::Buffers ConvLSTM2DOp::make_buffers(void* saved, void* scratch, bool for_backward) const {
  Parts saved_parts(saved), passing(scratch);
  const std::int64_t state = rows_ * pixels_ * units_, states = steps_ * state,
                     input = rows_ * steps_ * frame_ * channels_;
  const bool drops = drops_inputs() || drops_state();
  Buffers buffers{};
  Parts& gates = for_backward ? saved_parts : passing;
  buffers.gates = gates.take(bytes(kGates * states));
  buffers.hidden = gates.take(bytes(state_groups() * (for_backward ? states : state)));
  if (for_backward) {
    buffers.cell = saved_parts.floats(states);
    buffers.squashed = saved_parts.floats(states);
    if (has_states_) buffers.c0 = saved_parts.floats(state);
  }
  buffers.inputs = passing.take(bytes(input_groups() * input));
  buffers.d_inputs = passing.take(wants_dx_ ? bytes(input_groups() * input) : 0);
  buffers.outputs = passing.take(spec_.return_sequences ? bytes(states) : 0);
  buffers.products = passing.take(bytes(kGates * state));
  buffers.h = passing.take(bytes(state));
  buffers.c = passing.floats(state);
  buffers.dh = passing.floats(has_backward_ ? state : 0);
  buffers.dc = passing.floats(has_backward_ ? state : 0);
  buffers.of_state = passing.take(has_backward_ ? bytes(state_groups() * state) : 0);
  buffers.sum = passing.take(has_backward_ && drops_state() ? bytes(state) : 0);
  buffers.one = passing.take(drops ? bytes(std::max(input, state)) : 0);
  buffers.factors = passing.floats(drops ? rows_ * std::max(frame_ * channels_, pixels_ * units_) : 0);
  std::uint64_t most = 0;
  for (const Conv* conv : {&inputs_, &state_, &weights_})
    if (conv->op) most = std::max(most, conv->op->need().scratch);
  buffers.conv = passing.take(most);
  buffers.saved = saved_parts.taken();
  buffers.scratch = passing.taken();
  return buffers;
}

ConvLSTM2DOp::Draw ConvLSTM2DOp::input_draw(std::int64_t gate) const {
  return {spec_.dropout, static_cast<std::uint32_t>(Purpose::kDropout) +
                             (stream_ | static_cast<std::uint32_t>(gate) << OpContext::kDrawShift)};
}
ConvLSTM2DOp::Draw ConvLSTM2DOp::state_draw(std::int64_t gate) const {
  return {spec_.recurrent_dropout, input_draw(kGates + gate).stream};
}

kernels::FramesShape ConvLSTM2DOp::input_frames(const OpArgs& a, std::int64_t gate) const {
  return {a.rows, steps_, frame_, channels_, input_groups() * channels_, gate * channels_};
}
kernels::FramesShape ConvLSTM2DOp::output_frames(const OpArgs& a) const {
  return {a.rows, steps_, pixels_, units_, units_, 0};
}
kernels::FramesShape ConvLSTM2DOp::state_frames(const OpArgs& a, std::int64_t gate) const {
  return {a.rows, 1, pixels_, units_, state_groups() * units_, gate * units_};
}

/// Writes the input of the inputs' convolution: in the order of steps, with dropout for each gate.
void ConvLSTM2DOp::order_inputs(const OpArgs& a, const Buffers& buffers) {
  for (std::int64_t gate = 0; gate < input_groups(); ++gate) {
    const void* from = a.inputs[0];
    if (drops_inputs() && a.training) {
      drop(a, input_draw(gate), from, steps_, frame_ * channels_, buffers.factors, buffers.one);
      from = buffers.one;
    }
    by_step(a, input_frames(a, gate), from, buffers.inputs);
  }
}

/// Writes the input of the state's convolution.
void ConvLSTM2DOp::put_state(const OpArgs& a, const Buffers& buffers, void* to) {
  if (!drops_state()) return copy(a, buffers.h, to, a.rows * pixels_ * units_);
  for (std::int64_t gate = 0; gate < kGates; ++gate) {
    const void* from = buffers.h;
    if (a.training) {
      drop(a, state_draw(gate), from, 1, pixels_ * units_, buffers.factors, buffers.one);
      from = buffers.one;
    }
    by_step(a, state_frames(a, gate), from, to);
  }
}

/// Writes dh from the gradient of the state convolution's input.
void ConvLSTM2DOp::sum_state_gradient(const OpArgs& a, const Buffers& buffers) {
  const std::int64_t state = a.rows * pixels_ * units_;
  if (!drops_state()) return device_.to_float(buffers.of_state, type_, buffers.dh, state, *a.stream);
  for (std::int64_t gate = 0; gate < kGates; ++gate) {
    void* const part = gate == 0 ? buffers.sum : buffers.one;
    by_row(a, state_frames(a, gate), buffers.of_state, part);
    drop(a, state_draw(gate), part, 1, pixels_ * units_, buffers.factors, part);
    if (gate > 0) device_.accumulate(buffers.sum, part, type_, state, *a.stream);
  }
  device_.to_float(buffers.sum, type_, buffers.dh, state, *a.stream);
}

void ConvLSTM2DOp::write_input_gradient(const OpArgs& a, const Buffers& buffers) {
  for (std::int64_t gate = 0; gate < input_groups(); ++gate) {
    void* const part = gate == 0 ? a.input_gradients[0] : buffers.one;
    by_row(a, input_frames(a, gate), buffers.d_inputs, part);
    if (drops_inputs()) drop(a, input_draw(gate), part, steps_, frame_ * channels_, buffers.factors, part);
    if (gate > 0)
      device_.accumulate(a.input_gradients[0], part, type_, a.rows * steps_ * frame_ * channels_, *a.stream);
  }
}

/// A call with the kernel `weight`, and the bias if the convolution has one, without tensors.
OpArgs ConvLSTM2DOp::call_of(Conv& conv, const OpArgs& a, std::int64_t rows, std::size_t weight, void* scratch) {
  const std::array<std::size_t, 2> places{weight, 2};
  const std::size_t weights = conv.step.parameters.size();
  for (std::size_t i = 0; i < weights; ++i) {
    conv.values[i] = a.weights[places[i]];
    conv.compute[i] = a.compute_weights.empty() ? conv.values[i] : a.compute_weights[places[i]];
    conv.gradients[i] = a.weight_gradients.empty() ? nullptr : a.weight_gradients[places[i]];
  }
  OpArgs call = a;
  call.rows = rows;
  call.output_gradients = {};
  call.input_gradients = {};
  call.weights = std::span(conv.values).first(weights);
  call.compute_weights = std::span(conv.compute).first(weights);
  call.weight_gradients = std::span(conv.gradients).first(weights);
  call.saved = nullptr;
  call.scratch = scratch;
  return call;
}

void ConvLSTM2DOp::run(Conv& conv, const OpArgs& a, std::int64_t rows, const void* x, void* y, std::size_t weight,
                       void* scratch) {
  OpArgs call = call_of(conv, a, rows, weight, scratch);
  const std::array inputs{x};
  const std::array outputs{y};
  call.inputs = inputs;
  call.outputs = outputs;
  conv.op->forward(call);
}

void ConvLSTM2DOp::run_back(Conv& conv, const OpArgs& a, std::int64_t rows, const void* x, void* dy, void* dx,
                            std::size_t weight, void* scratch) {
  OpArgs call = call_of(conv, a, rows, weight, scratch);
  const std::array inputs{x};
  const std::array<void*, 1> outputs{}, output_gradients{dy}, input_gradients{dx};
  call.inputs = inputs;
  call.outputs = outputs;
  call.output_gradients = output_gradients;
  call.input_gradients = input_gradients;
  conv.op->backward(call);
}

void ConvLSTM2DOp::forward(const OpArgs& a) {
  const bool keeps = has_backward_ && a.training;
  const Buffers buffers = make_buffers(a.saved, a.scratch, keeps);
  const std::int64_t state = a.rows * pixels_ * units_;
  order_inputs(a, buffers);
  run(inputs_, a, a.rows * steps_, buffers.inputs, buffers.gates, 0, buffers.conv);
  if (has_states_) {
    copy(a, a.inputs[1], buffers.h, state);
    device_.to_float(a.inputs[2], type_, buffers.c, state, *a.stream);
    if (buffers.c0 != nullptr) device_.to_float(a.inputs[2], type_, buffers.c0, state, *a.stream);
  } else {
    device_.fill(static_cast<float*>(buffers.h), static_cast<std::int64_t>((bytes(state) + 3) / 4), 0, *a.stream);
    device_.fill(buffers.c, state, 0, *a.stream);
  }
  for (std::int64_t s = 0; s < steps_; ++s) {
    const std::int64_t t = time(s), place = t * state;
    void* const operand = keeps ? at(buffers.hidden, state_groups() * place) : buffers.hidden;
    put_state(a, buffers, operand);
    run(state_, a, a.rows, operand, buffers.products, 1, buffers.conv);
    step_forward(a, {.pixels = a.rows * pixels_,
                     .gates = at(buffers.gates, kGates * place),
                     .products = buffers.products,
                     .h = buffers.h,
                     .c = buffers.c,
                     .cell = at(buffers.cell, place),
                     .squashed = at(buffers.squashed, place),
                     .y = spec_.return_sequences ? at(buffers.outputs, s * state) : nullptr});
  }
  if (spec_.return_sequences)
    by_row(a, output_frames(a), buffers.outputs, a.outputs[0]);
  else
    copy(a, buffers.h, a.outputs[0], state);
  if (!spec_.return_state) return;
  copy(a, buffers.h, a.outputs[1], state);
  device_.from_float(buffers.c, a.outputs[2], type_, state, *a.stream);
}

void ConvLSTM2DOp::backward(const OpArgs& a) {
  const Buffers buffers = make_buffers(a.saved, a.scratch, true);
  const std::int64_t state = a.rows * pixels_ * units_;
  const void* const dy = a.output_gradients[0];
  if (spec_.return_sequences && dy != nullptr) by_step(a, output_frames(a), dy, buffers.outputs);
  for (const auto& [output, gradient] : {std::pair(1, buffers.dh), std::pair(2, buffers.dc)}) {
    const void* const given = spec_.return_state ? a.output_gradients[static_cast<std::size_t>(output)] : nullptr;
    if (given != nullptr)
      device_.to_float(given, type_, gradient, state, *a.stream);
    else
      device_.fill(gradient, state, 0, *a.stream);
  }
  const bool wants_h0 = has_states_ && a.input_gradients[1] != nullptr;
  for (std::int64_t s = steps_ - 1; s >= 0; --s) {
    const std::int64_t place = time(s) * state;
    const void* of_step = s + 1 == steps_ ? dy : nullptr;
    if (spec_.return_sequences) of_step = dy == nullptr ? nullptr : at(buffers.outputs, s * state);
    void* const dz = at(buffers.gates, kGates * place);
    step_backward(a, {.pixels = a.rows * pixels_,
                      .gates = dz,
                      .before = s > 0 ? at(buffers.cell, time(s - 1) * state) : buffers.c0,
                      .squashed = at(buffers.squashed, place),
                      .dy = of_step,
                      .dh = buffers.dh,
                      .dc = buffers.dc});
    if (s == 0 && !wants_h0) break;
    run_back(state_, a, a.rows, nullptr, dz, buffers.of_state, 1, buffers.conv);
    sum_state_gradient(a, buffers);
  }
  for (const auto& [input, gradient] : {std::pair(1, buffers.dh), std::pair(2, buffers.dc)}) {
    void* const wanted = has_states_ ? a.input_gradients[static_cast<std::size_t>(input)] : nullptr;
    if (wanted != nullptr) device_.from_float(gradient, wanted, type_, state, *a.stream);
  }
  if (weights_.op && a.weight_gradients[1] != nullptr)
    run_back(weights_, a, a.rows * steps_, buffers.hidden, buffers.gates, nullptr, 1, buffers.conv);
  if (wants_weights_) order_inputs(a, buffers);
  const bool wants_dx = wants_dx_ && a.input_gradients[0] != nullptr;
  if (!wants_dx && !wants_weights_) return;
  run_back(inputs_, a, a.rows * steps_, buffers.inputs, buffers.gates, wants_dx ? buffers.d_inputs : nullptr, 0,
           buffers.conv);
  if (wants_dx) write_input_gradient(a, buffers);
}

std::vector<int> conv_lstm2d_weight_order(const Device& device, const config::Typed& layer, std::size_t weight) {
  if (weight > 1) return {};
  const auto& spec = layer.as<nn::ConvLSTM2DSpec>();
  return device.weight_order(nn::layer_family().make(nn::state_convolution(spec, 1)), 0);
}

}  // namespace dptrain::backend
