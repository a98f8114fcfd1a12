#include <memory>
#include <utility>

#include "formats/onnx/layers/recurrent.h"

namespace dptrain::formats::onnx {
namespace {

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

}  // namespace

Recurrence scan(Builder& to, const Value& x, const std::vector<Value>& states, const Step& step,
                const ScanOptions& options) {
  const bool masked = !options.mask.name.empty();
  const std::string scope = to.unique(to.scope() + "/step");
  Builder body(scope, to.opset(), scope + "/");
  body.set_scope(scope);
  std::vector<Value> inputs = states, old;
  // Under a mask the output has a state of its own: before the first valid step it is zeros, whatever the states are.
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
  for (Value& value : made) {  // each output under a name of its own
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

}  // namespace dptrain::formats::onnx
