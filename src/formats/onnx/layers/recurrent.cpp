// Recurrent layers and wrappers. LSTM, GRU, SimpleRNN and Bidirectional are ONNX's ops of the same names or, with a
// mask or an activation that those lack, a Scan over the steps.

#include "nn/recurrent.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "formats/onnx/layers/windows.h"
#include "nn/wrappers.h"

namespace dptrain::formats::onnx {
namespace {

/// The outputs of a recurrent layer, steps in the order of time.
struct Recurrence {
  Value sequence;             ///< [batch, steps, ...]
  Value last;                 ///< [batch, ...]: the output of the last step that was computed
  std::vector<Value> states;  ///< after the last step
};

/// Computes the new states from a step's input and the old states. The first new state is the step's output.
using Step = std::function<std::vector<Value>(Builder& body, const Value& x, const std::vector<Value>& states)>;

struct ScanOptions {
  bool reverse = false;          ///< the last step first
  Value mask{};                  ///< [batch, steps]; a masked step changes nothing
  bool zeros_if_masked = false;  ///< the output of a masked step is zeros, not that of the previous step
};

/// [batch, steps, ...] with the steps first, and back.
Value steps_first(Builder& to, const Value& x) {
  std::vector<std::int64_t> perm{1, 0};
  for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(x.dims.size()); ++axis) perm.push_back(axis);
  return to.transpose(x, perm);
}

Dims without(const Dims& dims, std::size_t axis) {
  Dims rest = dims;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
  return rest;
}

/// By ONNX's Scan over x [batch, steps, ...].
Recurrence scan(Builder& to, const Value& x, const std::vector<Value>& states, const Step& step,
                const ScanOptions& options) {
  const bool masked = !options.mask.name.empty();
  const std::string scope = to.unique(to.scope() + "/step");
  Builder body(scope, to.opset(), scope + "/");
  body.set_scope(scope);
  std::vector<Value> inputs = states, old;
  // With a mask the output is a state of its own: it is zeros before the first valid step, whatever the states are.
  if (masked) inputs.push_back(to.zeros_like_batch(x, Dims(states[0].dims.begin() + 1, states[0].dims.end())));
  const std::size_t carried = inputs.size();
  for (std::size_t i = 0; i < carried; ++i)
    old.push_back(body.input(scope + "/state_" + std::to_string(i), inputs[i].dims, Element::kFloat));
  inputs.push_back(steps_first(to, x));
  const Value now = body.input(scope + "/x", without(x.dims, 1), Element::kFloat);
  Value valid;
  if (masked) {
    Dims dims = options.mask.dims;
    dims.insert(dims.end(), states[0].dims.size() - 1, 1);
    inputs.push_back(steps_first(to, to.reshape(options.mask, dims)));
    valid = body.input(scope + "/valid", without(dims, 1), Element::kBool);
  }

  std::vector<Value> made =
      step(body, now, std::vector<Value>(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(states.size())));
  Value output = made.front();
  if (masked) {
    const Value kept = body.where(valid, output, old.back());
    if (options.zeros_if_masked) output = body.where(valid, output, body.scalar(0));
    for (std::size_t i = 0; i < states.size(); ++i) made[i] = body.where(valid, made[i], old[i]);
    made.push_back(kept);
    if (!options.zeros_if_masked) output = kept;
  }
  made.push_back(output);
  for (Value& value : made) {  // each output needs its own name
    value = body.unary("Identity", value);
    body.graph().outputs.push_back(value);
  }

  const std::vector<std::int64_t> direction{options.reverse ? 1 : 0};
  std::vector<Dims> dims;
  for (std::size_t i = 0; i < carried; ++i) dims.push_back(inputs[i].dims);
  Dims sequence = inputs[carried].dims;  // [steps, batch, ...]
  sequence.resize(1);
  sequence.insert(sequence.end(), states[0].dims.begin(), states[0].dims.end());
  dims.push_back(sequence);
  const auto scanned = static_cast<std::int64_t>(inputs.size() - carried);
  const std::vector<Value> outputs =
      to.node("Scan", inputs, dims,
              {{"body", std::make_shared<const Graph>(std::move(body.graph()))},
               {"num_scan_inputs", scanned},
               {"scan_input_directions", std::vector<std::int64_t>(static_cast<std::size_t>(scanned), direction[0])},
               {"scan_output_directions", direction}});
  Recurrence result;
  result.sequence = steps_first(to, outputs.back());
  result.states.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(states.size()));
  result.last = masked ? outputs[states.size()] : outputs.front();
  return result;
}

/// The outputs of a layer with these arguments.
std::vector<Value> recurrent_results(Builder& to, const Recurrence& made, bool return_sequences, bool return_state,
                                     bool go_backwards) {
  std::vector<Value> all;
  if (!return_sequences)
    all.push_back(made.last);
  else
    all.push_back(go_backwards ? to.flip(made.sequence, 1) : made.sequence);
  if (return_state) all.insert(all.end(), made.states.begin(), made.states.end());
  return all;
}

// LSTM, GRU and SimpleRNN

using nn::Activation;

struct OnnxActivation {
  std::string name;
  std::vector<float> alpha{}, beta{};  ///< its parameters
};

/// Nothing if ONNX's recurrent ops lack the activation.
std::optional<OnnxActivation> recurrent_activation(Activation activation) {
  const float alpha = kernels::traits_of(activation).alpha;
  switch (activation) {
    case Activation::kLinear: return OnnxActivation{"Affine", {1}, {0}};
    case Activation::kRelu: return OnnxActivation{"Relu"};
    case Activation::kLeakyRelu: return OnnxActivation{"LeakyRelu", {alpha}};
    case Activation::kElu: return OnnxActivation{"Elu", {alpha}};
    case Activation::kTanh: return OnnxActivation{"Tanh"};
    case Activation::kSigmoid: return OnnxActivation{"Sigmoid"};
    case Activation::kHardSigmoid: return OnnxActivation{"HardSigmoid", {1.0F / 6.0F}, {0.5F}};
    case Activation::kSoftsign: return OnnxActivation{"Softsign"};
    case Activation::kSoftplus: return OnnxActivation{"Softplus"};
    default: return std::nullopt;
  }
}

/// The differences between the three kinds of cells.
struct CellForm {
  std::string op;
  std::vector<std::size_t> gates;       ///< for each gate of ONNX its index in Keras
  std::vector<Activation> activations;  ///< in ONNX's order
  std::size_t states = 1;
  bool reset_after = true;  ///< GRU
};

CellForm cell_of(const config::Typed& layer) {
  if (const auto* lstm = layer.get_if<nn::LSTMSpec>())
    return {"LSTM", {0, 3, 1, 2}, {lstm->recurrent_activation, lstm->activation, lstm->activation}, 2};
  if (const auto* gru = layer.get_if<nn::GRUSpec>())
    return {"GRU", {0, 1, 2}, {gru->recurrent_activation, gru->activation}, 1, gru->reset_after};
  return {"RNN", {0}, {layer.as<nn::SimpleRNNSpec>().activation}};
}

const nn::RecurrentSpec& common_spec(const config::Typed& layer) {
  if (const auto* lstm = layer.get_if<nn::LSTMSpec>()) return *lstm;
  if (const auto* gru = layer.get_if<nn::GRUSpec>()) return *gru;
  return layer.as<nn::SimpleRNNSpec>();
}

/// [rows, gates * units] as [1, gates * units, rows], gates in ONNX's order.
std::vector<float> turned(const std::vector<float>& values, std::size_t units, const std::vector<std::size_t>& gates) {
  const std::size_t columns = gates.size() * units, rows = values.size() / columns;
  std::vector<float> out;
  out.reserve(values.size());
  for (const std::size_t gate : gates)
    for (std::size_t unit = 0; unit < units; ++unit)
      for (std::size_t row = 0; row < rows; ++row) out.push_back(values[row * columns + gate * units + unit]);
  return out;
}

/// The bias of the inputs, then that of the states, or zeros.
std::vector<float> both_biases(const std::vector<float>& values, std::size_t units,
                               const std::vector<std::size_t>& gates) {
  const std::size_t columns = gates.size() * units;
  std::vector<float> out;
  for (std::size_t row = 0; row < 2; ++row)
    for (const std::size_t gate : gates)
      for (std::size_t unit = 0; unit < units; ++unit) {
        const std::size_t at = row * columns + gate * units + unit;
        out.push_back(at < values.size() ? values[at] : 0);
      }
  return out;
}

/// Uses the op.
Recurrence by_op(const CellForm& cell, const nn::RecurrentSpec& spec, Call& call,
                 const std::vector<OnnxActivation>& activations) {
  Builder& to = call.to;
  const Value& x = call.x();
  const std::int64_t units = spec.units, columns = units * static_cast<std::int64_t>(cell.gates.size());
  const auto width = static_cast<std::size_t>(units);
  const auto weight = [&](const char* name, std::int64_t rows) {
    const graph::Weight& one = call.weight(name);
    return call.made(one.def.name, {1, columns, rows}, [&] { return turned(one.values, width, cell.gates); });
  };
  std::vector<Value> inputs{to.transpose(x, {1, 0, 2}), weight("kernel", x.dims[2]), weight("recurrent_kernel", units)};
  if (const graph::Weight* bias = call.find("bias"))
    inputs.push_back(
        call.made(bias->def.name, {1, 2 * columns}, [&] { return both_biases(bias->values, width, cell.gates); }));
  else
    inputs.emplace_back();
  inputs.emplace_back();  // sequence_lens: all steps
  for (std::size_t state = 1; state < call.inputs.size(); ++state)
    inputs.push_back(to.node("Reshape", {call.inputs[state], to.integers({1, -1, units})}, {1, kBatch, units}));
  std::vector<std::string> names;
  std::vector<float> alpha, beta;
  for (const OnnxActivation& one : activations) {
    names.push_back(one.name);
    alpha.insert(alpha.end(), one.alpha.begin(), one.alpha.end());
    beta.insert(beta.end(), one.beta.begin(), one.beta.end());
  }
  Builder::Attributes attributes{{"hidden_size", units},
                                 {"direction", std::string(spec.go_backwards ? "reverse" : "forward")},
                                 {"activations", names}};
  if (!alpha.empty()) attributes.push_back({"activation_alpha", alpha});
  if (!beta.empty()) attributes.push_back({"activation_beta", beta});
  if (cell.op == "GRU") attributes.push_back({"linear_before_reset", std::int64_t{cell.reset_after ? 1 : 0}});
  std::vector<Dims> dims{{x.dims[1], 1, kBatch, units}};
  dims.resize(1 + cell.states, {1, kBatch, units});
  const std::vector<Value> made = to.node(cell.op, inputs, dims, attributes);
  Recurrence result;
  result.sequence = to.reshape(to.transpose(made[0], {2, 0, 1, 3}), {kBatch, x.dims[1], units});
  for (std::size_t state = 1; state < made.size(); ++state)
    result.states.push_back(to.reshape(made[state], {kBatch, units}));
  result.last = result.states.front();
  return result;
}

/// The gate's columns of [batch, gates * units].
Value gate(Builder& to, const Value& all, std::int64_t units, std::int64_t which) {
  return to.slice(all, 1, which * units, (which + 1) * units);
}

/// Uses a Scan over x K + b.
Recurrence by_scan(const config::Typed& layer, const CellForm& cell, const nn::RecurrentSpec& spec, Call& call,
                   bool zeros_if_masked) {
  Builder& to = call.to;
  const std::int64_t units = spec.units;
  const graph::Weight& recurrent = call.weight("recurrent_kernel");
  const graph::Weight* bias = call.find("bias");
  const std::int64_t columns = recurrent.def.shape[1];
  Value x = to.matmul(call.x(), call.constant(call.weight("kernel")));
  const bool two_rows = bias != nullptr && bias->def.shape.rank() == 2;
  const auto row = [&](std::ptrdiff_t which) {
    return std::vector<float>(bias->values.begin() + which * columns, bias->values.begin() + (which + 1) * columns);
  };
  if (bias != nullptr) x = to.binary("Add", x, call.made(bias->def.name, {columns}, [&] { return row(0); }));
  std::vector<Value> states(call.inputs.begin() + 1, call.inputs.end());
  while (states.size() < cell.states) states.push_back(to.zeros_like_batch(call.x(), {units}));

  const Step step = [&](Builder& body, const Value& now, const std::vector<Value>& old) -> std::vector<Value> {
    const auto own = [&](const char* name, const Dims& dims, const std::vector<float>& values) {
      return body.named(body.scope() + "/" + name, dims, [&] { return values; });
    };
    const Value kernel = own("recurrent_kernel", recurrent.def.shape.dims(), recurrent.values);
    const auto act = [&](const Value& value, std::size_t which) {
      return body.activate(value, cell.activations[which]);
    };
    if (cell.op == "RNN") return {act(body.binary("Add", now, body.matmul(old[0], kernel)), 0)};
    if (cell.op == "LSTM") {
      const Value z = body.binary("Add", now, body.matmul(old[0], kernel));
      const Value kept = body.binary("Mul", act(gate(body, z, units, 1), 0), old[1]);
      const Value added = body.binary("Mul", act(gate(body, z, units, 0), 0), act(gate(body, z, units, 2), 1));
      const Value carry = body.binary("Add", kept, added);
      return {body.binary("Mul", act(gate(body, z, units, 3), 0), act(carry, 2)), carry};
    }
    Value inner = body.matmul(old[0], kernel);
    if (two_rows) inner = body.binary("Add", inner, own("recurrent_bias", {columns}, row(1)));
    const auto summed = [&](std::int64_t which) {
      return act(body.binary("Add", gate(body, now, units, which), gate(body, inner, units, which)), 0);
    };
    const Value update = summed(0), reset = summed(1);
    const Value of_state = layer.as<nn::GRUSpec>().reset_after
                               ? body.binary("Mul", reset, gate(body, inner, units, 2))
                               : body.matmul(body.binary("Mul", reset, old[0]), gate(body, kernel, units, 2));
    const Value fresh = act(body.binary("Add", gate(body, now, units, 2), of_state), 1);
    const Value rest = body.binary("Mul", body.binary("Sub", body.scalar(1), update), fresh);
    return {body.binary("Add", body.binary("Mul", update, old[0]), rest)};
  };
  return scan(to, x, states, step,
              {.reverse = spec.go_backwards, .mask = call.masks[0], .zeros_if_masked = zeros_if_masked});
}

/// `call` has the weights of one direction.
Recurrence make_recurrence(const config::Typed& layer, Call& call, bool zeros_if_masked) {
  const CellForm cell = cell_of(layer);
  const nn::RecurrentSpec& spec = common_spec(layer);
  std::vector<OnnxActivation> activations;
  for (const Activation activation : cell.activations)
    if (std::optional<OnnxActivation> known = recurrent_activation(activation))
      activations.push_back(*std::move(known));
  const bool all_known = activations.size() == cell.activations.size();
  if (call.masks[0].name.empty() && all_known) return by_op(cell, spec, call, activations);
  return by_scan(layer, cell, spec, call, zeros_if_masked);
}

template <class Spec>
std::vector<Value> recurrent(const Spec& spec, Call& call) {
  const Recurrence made = make_recurrence(nn::layer_family().make(spec), call, false);
  return recurrent_results(call.to, made, spec.return_sequences, spec.return_state, spec.go_backwards);
}

Value merged(Builder& to, nn::MergeMode mode, const Value& a, const Value& b) {
  switch (mode) {
    case nn::MergeMode::kConcat: return to.concat({a, b}, static_cast<std::int64_t>(a.dims.size()) - 1);
    case nn::MergeMode::kMul: return to.binary("Mul", a, b);
    case nn::MergeMode::kSum: return to.binary("Add", a, b);
    case nn::MergeMode::kAve: break;
  }
  return to.binary("Mul", to.binary("Add", a, b), to.scalar(0.5F));
}

std::vector<Value> bidirectional(const nn::BidirectionalSpec& spec, Call& call) {
  const nn::RecurrentSpec& common = nn::recurrent_spec(spec);
  const std::size_t half = call.weights.size() / 2, states = nn::states_of(spec);
  const auto one = [&](bool backward) {
    Call part = call;
    const auto from = call.weights.begin() + static_cast<std::ptrdiff_t>(backward ? half : 0);
    part.weights.assign(from, from + static_cast<std::ptrdiff_t>(half));
    part.inputs = {call.x()};
    for (std::size_t state = 0; state < states && call.inputs.size() > 1; ++state)
      part.inputs.push_back(call.inputs[1 + (backward ? states : 0) + state]);
    return make_recurrence(nn::direction_of(spec, backward), part, common.return_sequences);
  };
  const Recurrence forward = one(false), backward = one(true);
  // Both are in the order of time: the backward copy's outputs are reversed.
  const auto output = [&](const Recurrence& made) { return common.return_sequences ? made.sequence : made.last; };
  std::vector<Value> all{merged(call.to, spec.merge_mode, output(forward), output(backward))};
  if (!common.return_state) return all;
  all.insert(all.end(), forward.states.begin(), forward.states.end());
  all.insert(all.end(), backward.states.begin(), backward.states.end());
  return all;
}

const RegisteredForm kLSTM = form<nn::LSTMSpec>(recurrent<nn::LSTMSpec>).uses_masks();
const RegisteredForm kGRU = form<nn::GRUSpec>(recurrent<nn::GRUSpec>).uses_masks();
const RegisteredForm kSimpleRNN = form<nn::SimpleRNNSpec>(recurrent<nn::SimpleRNNSpec>).uses_masks();
const RegisteredForm kBidirectional = form<nn::BidirectionalSpec>(bidirectional).uses_masks();

// ConvLSTM2D: one convolution of the inputs of all steps, then a Scan that convolves the state, all channels-first.

std::vector<Value> conv_lstm(const nn::ConvLSTM2DSpec& spec, Call& call) {
  Builder& to = call.to;
  const Dims& in = call.x().dims;  // [batch, steps, H, W, C]
  const std::int64_t filters = spec.units;
  const Value images = to.channels_first(to.reshape(call.x(), {kBatch, in[2], in[3], in[4]}));
  const graph::Weight& recurrent = call.weight("recurrent_kernel");
  const Value of_inputs =
      convolve(to, images, kernel_of(call, call.weight("kernel")), bias_of(call), windows_of(spec), 1);
  const std::int64_t height = of_inputs.dims[2], width = of_inputs.dims[3];
  const Value x = to.reshape(of_inputs, {kBatch, in[1], 4 * filters, height, width});
  std::vector<Value> states;
  for (std::size_t state = 1; state < call.inputs.size(); ++state)
    states.push_back(to.channels_first(call.inputs[state]));
  while (states.size() < 2) states.push_back(to.zeros_like_batch(call.x(), {filters, height, width}));

  const Step step = [&](Builder& body, const Value& now, const std::vector<Value>& old) -> std::vector<Value> {
    const Builder::Perm perm = kernel_perm(recurrent);
    const Dims& shape = recurrent.def.shape.dims();
    const Value own = body.named(body.scope() + "/recurrent_kernel", permuted(shape, perm),
                                 [&] { return permuted(std::span<const float>(recurrent.values), shape, perm); });
    const Windows windows{
        .size = extents_of(spec.kernel_size), .strides = {1, 1}, .dilation = {1, 1}, .padding = nn::Padding::kSame};
    const Value z = body.binary("Add", now, convolve(body, old[0], own, {}, windows, 1));
    const auto gate = [&](std::int64_t which, nn::Activation activation) {
      return body.activate(body.slice(z, 1, which * filters, (which + 1) * filters), activation);
    };
    const Value kept = body.binary("Mul", gate(1, spec.recurrent_activation), old[1]);
    const Value added = body.binary("Mul", gate(0, spec.recurrent_activation), gate(2, spec.activation));
    const Value carry = body.binary("Add", kept, added);
    return {body.binary("Mul", gate(3, spec.recurrent_activation), body.activate(carry, spec.activation)), carry};
  };
  Recurrence made = scan(to, x, states, step, {.reverse = spec.go_backwards});
  made.sequence = to.transpose(made.sequence, {0, 1, 3, 4, 2});
  made.last = to.channels_last(made.last);
  for (Value& state : made.states) state = to.channels_last(state);
  return recurrent_results(to, made, spec.return_sequences, spec.return_state, spec.go_backwards);
}

const RegisteredForm kConvLSTM2D = form<nn::ConvLSTM2DSpec>(conv_lstm);

// TimeDistributed: the wrapped layer, with all steps of all samples as its batch.

/// [batch * steps, ...] to samples of the shape, with as many steps as `like` has.
Value as_steps(Builder& to, const Value& y, const Value& like, const Shape& shape) {
  const Value leading = to.extents(like, 0, 2);
  if (shape.rank() == 1) return to.node("Reshape", {y, leading}, with_batch(shape), {}, y.type);
  const Value rest = to.integers(Dims(shape.dims().begin() + 1, shape.dims().end()));
  return to.node("Reshape", {y, to.concat({leading, rest}, 0)}, with_batch(shape), {}, y.type);
}

Value time_distributed(const nn::TimeDistributedSpec& spec, Call& call) {
  const Value& x = call.x();
  const Dims inner = without(x.dims, 1);
  Call part = call;
  part.inputs = {call.to.node("Reshape", {x, call.to.integers(inner)}, inner, {}, x.type)};
  part.masks = {Value{}};
  part.output = Shape(Dims(call.output.dims().begin() + 1, call.output.dims().end()));
  const Value y = write_layer(spec.layer, part).front();
  return call.to.steps_are_free() ? as_steps(call.to, y, x, call.output) : call.to.to_samples(y, call.output);
}

const RegisteredForm kTimeDistributed = form<nn::TimeDistributedSpec>(time_distributed);

}  // namespace
}  // namespace dptrain::formats::onnx
