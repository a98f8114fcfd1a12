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
      keeps_(context.step.has_backward),
      has_states_(context.step.inputs.size() > 1),
      wants_dx_(keeps_ && context.step.input_gradients[0] != plan::kAbsent),
      wants_weights_(keeps_ && context.step.parameter_gradients[0]) {
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
  state_ = conv(context, of_state, 2, 1, keeps_, false, rows_, alignment_of(pixels_ * units_, type_));
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
  const Rooms all = rooms(nullptr, nullptr, keeps_);
  return {.saved = all.saved, .scratch = std::max(all.scratch, rooms(nullptr, nullptr, false).scratch)};
}

std::string ConvLSTM2DOp::implementation() const {
  return "inputs " + inputs_.op->implementation() + "; state " + state_.op->implementation();
}

std::pair<double, double> ConvLSTM2DOp::flops_per_sample() const {
  const auto inputs = inputs_.op->flops_per_sample(), state = state_.op->flops_per_sample();
  const double steps = static_cast<double>(steps_), weights = weights_.op ? weights_.op->flops_per_sample().second : 0;
  return {steps * (inputs.first + state.first), steps * (inputs.second + state.second + weights)};
}

ConvLSTM2DOp::Rooms ConvLSTM2DOp::rooms(void* saved, void* scratch, bool for_backward) const {
  Parts kept(saved), passing(scratch);
  const std::int64_t state = rows_ * pixels_ * units_, states = steps_ * state,
                     input = rows_ * steps_ * frame_ * channels_;
  const bool drops = drops_inputs() || drops_state();
  Rooms room{};
  Parts& gates = for_backward ? kept : passing;
  room.gates = gates.take(bytes(kGates * states));
  room.hidden = gates.take(bytes(state_groups() * (for_backward ? states : state)));
  if (for_backward) {
    room.cell = kept.floats(states);
    room.squashed = kept.floats(states);
    if (has_states_) room.c0 = kept.floats(state);
  }
  room.inputs = passing.take(bytes(input_groups() * input));
  room.d_inputs = passing.take(wants_dx_ ? bytes(input_groups() * input) : 0);
  room.outputs = passing.take(spec_.return_sequences ? bytes(states) : 0);
  room.products = passing.take(bytes(kGates * state));
  room.h = passing.take(bytes(state));
  room.c = passing.floats(state);
  room.dh = passing.floats(keeps_ ? state : 0);
  room.dc = passing.floats(keeps_ ? state : 0);
  room.of_state = passing.take(keeps_ ? bytes(state_groups() * state) : 0);
  room.sum = passing.take(keeps_ && drops_state() ? bytes(state) : 0);
  room.one = passing.take(drops ? bytes(std::max(input, state)) : 0);
  room.factors = passing.floats(drops ? rows_ * std::max(frame_ * channels_, pixels_ * units_) : 0);
  std::uint64_t most = 0;
  for (const Conv* conv : {&inputs_, &state_, &weights_})
    if (conv->op) most = std::max(most, conv->op->need().scratch);
  room.conv = passing.take(most);
  room.saved = kept.taken();
  room.scratch = passing.taken();
  return room;
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
void ConvLSTM2DOp::order_inputs(const OpArgs& a, const Rooms& room) {
  for (std::int64_t gate = 0; gate < input_groups(); ++gate) {
    const void* from = a.inputs[0];
    if (drops_inputs() && a.training) {
      drop(a, input_draw(gate), from, steps_, frame_ * channels_, room.factors, room.one);
      from = room.one;
    }
    by_step(a, input_frames(a, gate), from, room.inputs);
  }
}

/// Writes the input of the state's convolution.
void ConvLSTM2DOp::put_state(const OpArgs& a, const Rooms& room, void* to) {
  if (!drops_state()) return copy(a, room.h, to, a.rows * pixels_ * units_);
  for (std::int64_t gate = 0; gate < kGates; ++gate) {
    const void* from = room.h;
    if (a.training) {
      drop(a, state_draw(gate), from, 1, pixels_ * units_, room.factors, room.one);
      from = room.one;
    }
    by_step(a, state_frames(a, gate), from, to);
  }
}

/// Writes dh from the gradient of the state convolution's input.
void ConvLSTM2DOp::take_gradient_of_state(const OpArgs& a, const Rooms& room) {
  const std::int64_t state = a.rows * pixels_ * units_;
  if (!drops_state()) return device_.to_float(room.of_state, type_, room.dh, state, *a.stream);
  for (std::int64_t gate = 0; gate < kGates; ++gate) {
    void* const part = gate == 0 ? room.sum : room.one;
    by_row(a, state_frames(a, gate), room.of_state, part);
    drop(a, state_draw(gate), part, 1, pixels_ * units_, room.factors, part);
    if (gate > 0) device_.accumulate(room.sum, part, type_, state, *a.stream);
  }
  device_.to_float(room.sum, type_, room.dh, state, *a.stream);
}

void ConvLSTM2DOp::give_input_gradient(const OpArgs& a, const Rooms& room) {
  for (std::int64_t gate = 0; gate < input_groups(); ++gate) {
    void* const part = gate == 0 ? a.input_gradients[0] : room.one;
    by_row(a, input_frames(a, gate), room.d_inputs, part);
    if (drops_inputs()) drop(a, input_draw(gate), part, steps_, frame_ * channels_, room.factors, part);
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
  const bool keeps = keeps_ && a.training;
  const Rooms room = rooms(a.saved, a.scratch, keeps);
  const std::int64_t state = a.rows * pixels_ * units_;
  order_inputs(a, room);
  run(inputs_, a, a.rows * steps_, room.inputs, room.gates, 0, room.conv);
  if (has_states_) {
    copy(a, a.inputs[1], room.h, state);
    device_.to_float(a.inputs[2], type_, room.c, state, *a.stream);
    if (room.c0 != nullptr) device_.to_float(a.inputs[2], type_, room.c0, state, *a.stream);
  } else {
    device_.fill(static_cast<float*>(room.h), static_cast<std::int64_t>((bytes(state) + 3) / 4), 0, *a.stream);
    device_.fill(room.c, state, 0, *a.stream);
  }
  for (std::int64_t s = 0; s < steps_; ++s) {
    const std::int64_t t = time(s), place = t * state;
    void* const operand = keeps ? at(room.hidden, state_groups() * place) : room.hidden;
    put_state(a, room, operand);
    run(state_, a, a.rows, operand, room.products, 1, room.conv);
    take_step(a, {.pixels = a.rows * pixels_,
                  .gates = at(room.gates, kGates * place),
                  .products = room.products,
                  .h = room.h,
                  .c = room.c,
                  .cell = at(room.cell, place),
                  .squashed = at(room.squashed, place),
                  .y = spec_.return_sequences ? at(room.outputs, s * state) : nullptr});
  }
  if (spec_.return_sequences)
    by_row(a, output_frames(a), room.outputs, a.outputs[0]);
  else
    copy(a, room.h, a.outputs[0], state);
  if (!spec_.return_state) return;
  copy(a, room.h, a.outputs[1], state);
  device_.from_float(room.c, a.outputs[2], type_, state, *a.stream);
}

void ConvLSTM2DOp::backward(const OpArgs& a) {
  const Rooms room = rooms(a.saved, a.scratch, true);
  const std::int64_t state = a.rows * pixels_ * units_;
  const void* const dy = a.output_gradients[0];
  if (spec_.return_sequences && dy != nullptr) by_step(a, output_frames(a), dy, room.outputs);
  for (const auto& [output, gradient] : {std::pair(1, room.dh), std::pair(2, room.dc)}) {
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
    if (spec_.return_sequences) of_step = dy == nullptr ? nullptr : at(room.outputs, s * state);
    void* const dz = at(room.gates, kGates * place);
    go_back(a, {.pixels = a.rows * pixels_,
                .gates = dz,
                .before = s > 0 ? at(room.cell, time(s - 1) * state) : room.c0,
                .squashed = at(room.squashed, place),
                .dy = of_step,
                .dh = room.dh,
                .dc = room.dc});
    if (s == 0 && !wants_h0) break;
    run_back(state_, a, a.rows, nullptr, dz, room.of_state, 1, room.conv);
    take_gradient_of_state(a, room);
  }
  for (const auto& [input, gradient] : {std::pair(1, room.dh), std::pair(2, room.dc)}) {
    void* const wanted = has_states_ ? a.input_gradients[static_cast<std::size_t>(input)] : nullptr;
    if (wanted != nullptr) device_.from_float(gradient, wanted, type_, state, *a.stream);
  }
  if (weights_.op && a.weight_gradients[1] != nullptr)
    run_back(weights_, a, a.rows * steps_, room.hidden, room.gates, nullptr, 1, room.conv);
  if (wants_weights_) order_inputs(a, room);
  const bool wants_dx = wants_dx_ && a.input_gradients[0] != nullptr;
  if (!wants_dx && !wants_weights_) return;
  run_back(inputs_, a, a.rows * steps_, room.inputs, room.gates, wants_dx ? room.d_inputs : nullptr, 0, room.conv);
  if (wants_dx) give_input_gradient(a, room);
}

std::vector<int> conv_lstm2d_weight_order(const Device& device, const config::Typed& layer, std::size_t weight) {
  if (weight > 1) return {};
  const auto& spec = layer.as<nn::ConvLSTM2DSpec>();
  return device.weight_order(nn::layer_family().make(nn::state_convolution(spec, 1)), 0);
}

}  // namespace dptrain::backend
