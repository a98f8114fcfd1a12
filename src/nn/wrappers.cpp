#include "nn/wrappers.h"

#include "core/format.h"
#include "nn/recurrent.h"

namespace dptrain::nn {
namespace {

/// Calls f with the spec of the wrapped layer; returns false unless that is recurrent.
template <class F>
bool with_recurrent(const config::Typed& layer, const F& f) {
  if (const auto* lstm = layer.get_if<LSTMSpec>()) return f(*lstm), true;
  if (const auto* gru = layer.get_if<GRUSpec>()) return f(*gru), true;
  if (const auto* simple = layer.get_if<SimpleRNNSpec>()) return f(*simple), true;
  return false;
}

std::string recurrent_layer_error(const WrappedLayer& layer) {
  if (!layer) return "";
  bool backwards = false;
  if (!with_recurrent(layer, [&](const RecurrentSpec& spec) { backwards = spec.go_backwards; }))
    return fmt::format("must be LSTM, GRU or SimpleRNN, found {}", layer.name());
  if (!backwards) return "";
  return "must not be backwards: the wrapper adds that direction; remove go_backwards";
}

std::vector<OutputDef> outputs(const BidirectionalSpec& spec, std::span<const TensorDef> in) {
  const std::size_t states = 2 * states_of(spec);
  const Shape state{recurrent_spec(spec).units};
  if (in.size() != 1 && in.size() != 1 + states)
    throw LayerError(fmt::format("expected 1 input, or {} with the initial states of both directions, found {}",
                                 1 + states, in.size()));
  for (std::size_t i = 1; i < in.size(); ++i)
    if (in[i].shape != state)
      throw LayerError(fmt::format("an initial state has one number for each of {} units, {{{}}} is {}", state[0], i,
                                   in[i].shape.str()));
  std::vector<OutputDef> one = type_of(spec.layer).outputs(spec.layer.spec(), in.first(1));
  if (spec.merge_mode == MergeMode::kConcat) {
    std::vector<std::int64_t> dims = one[0].shape.dims();
    dims.back() *= 2;
    one[0].shape = Shape(std::move(dims));
  }
  std::vector<OutputDef> all{one[0]};
  for (const char* direction : {"forward_", "backward_"})
    for (std::size_t i = 1; i < one.size(); ++i) {
      all.push_back(one[i]);
      all.back().name = direction + one[i].name;
    }
  return all;
}

/// "lstm_cell/kernel" of the forward copy is "forward_lstm/lstm_cell/kernel".
std::vector<WeightDef> weights(const BidirectionalSpec& spec, std::span<const Shape> in) {
  const std::vector<WeightDef> one = type_of(spec.layer).weights(spec.layer.spec(), in);
  std::vector<WeightDef> all;
  for (const char* direction : {"forward_", "backward_"})
    for (const WeightDef& weight : one) {
      all.push_back(weight);
      const std::string layer = weight.name.substr(0, weight.name.find("_cell/"));
      all.back().name = fmt::format("{}{}/{}", direction, layer, weight.name);
    }
  return all;
}

const Registered kBidirectional =
    layer<BidirectionalSpec>("Bidirectional")
        .doc(
            "[steps, features] -> output of `layer`, with `concat` [..., 2 units]; two copies with separate weights, "
            "one reads the last step first")
        .positional(key("layer", &BidirectionalSpec::layer)
                        .required()
                        .check(recurrent_layer_error)
                        .doc("LSTM, GRU or SimpleRNN; the wrapper makes a copy for each direction"))
        .key(
            key("merge_mode", &BidirectionalSpec::merge_mode).doc("how the outputs of the two directions are combined"))
        .rejected_key("backward_layer", "both directions have the settings of 'layer', each with weights of its own")
        .inputs(1, 5)
        .outputs(outputs)
        .weights(weights)
        .random([](const BidirectionalSpec& spec) { return is_random(spec.layer); })
        .masks([](const BidirectionalSpec& spec, std::span<const Shape> in) {
          return type_of(spec.layer).mask_rule(spec.layer.spec(), in);
        })
        .uses_masks()
        .backward_reads(BackwardReads{.input_to_train = true, .masks = true})
        .masked_example("layer: {LSTM: {units: 4, return_sequences: true}}", {{9, 5}})
        .masked_example("layer: {GRU: 5}, merge_mode: mul", {{9, 5}});

std::string step_layer_error(const WrappedLayer& layer) {
  if (!layer) return "";
  const LayerType& type = type_of(layer);
  if (type.min_inputs != 1)
    return fmt::format("must be a layer of one input, {} {}", layer.name(),
                       type.max_inputs == 0 ? "has none" : "takes several");
  if (type.input_type != DType::kF32)
    return fmt::format("must be a layer of numbers; {} takes ids of any shape without TimeDistributed", layer.name());
  return "";
}

/// One step of [steps, ...].
Shape step_of(const Shape& steps) { return Shape({steps.dims().begin() + 1, steps.dims().end()}); }
std::vector<Shape> steps_of(std::span<const Shape> in) { return {step_of(in[0])}; }

std::vector<OutputDef> outputs(const TimeDistributedSpec& spec, std::span<const TensorDef> in) {
  if (in[0].shape.rank() < 2)
    throw LayerError(fmt::format("expected steps of 1 axis or more, {{0}} is {}", in[0].shape.str()));
  const LayerType& type = type_of(spec.layer);
  const TensorDef one{step_of(in[0].shape), in[0].type};
  if (type.input_rank != 0 && one.shape.rank() != type.input_rank)
    throw LayerError(fmt::format("{} expects an input of {} axes, each step of {{0}} is {}", spec.layer.name(),
                                 type.input_rank, one.shape.str()));
  std::vector<OutputDef> of_step = type.outputs(spec.layer.spec(), {&one, 1});
  if (of_step.back().is_mask)
    throw LayerError(fmt::format("{} makes a mask of all axes: use it without TimeDistributed", spec.layer.name()));
  if (of_step.size() > 1)
    throw LayerError(fmt::format("{} must have one output, not {}", spec.layer.name(), of_step.size()));
  std::vector<std::int64_t> dims = of_step[0].shape.dims();
  dims.insert(dims.begin(), in[0].shape[0]);
  of_step[0].shape = Shape(std::move(dims));
  return of_step;
}

/// The mask of a step would be a number, which no layer accepts.
MaskRule mask_rule(const TimeDistributedSpec& spec, std::span<const Shape> in) {
  const LayerType& type = type_of(spec.layer);
  const MaskRule inner = type.mask_rule(spec.layer.spec(), steps_of(in));
  return inner == MaskRule::kUnsupported || type.uses_masks ? MaskRule::kUnsupported : MaskRule::kPasses;
}

const Registered kTimeDistributed =
    layer<TimeDistributedSpec>("TimeDistributed")
        .doc("[steps, ...] -> [steps, output of `layer`]; applies one layer to every step")
        .positional(key("layer", &TimeDistributedSpec::layer)
                        .required()
                        .check(step_layer_error)
                        .doc("layer with one input and one output, written as a step"))
        .inputs(1)
        .outputs(outputs)
        .weights([](const TimeDistributedSpec& spec, std::span<const Shape> in) {
          return type_of(spec.layer).weights(spec.layer.spec(), steps_of(in));
        })
        .random([](const TimeDistributedSpec& spec) { return is_random(spec.layer); })
        .masks(mask_rule)
        .applies([](const TimeDistributedSpec& spec) -> config::Typed { return spec.layer; },
                 [](const config::Typed& layer) { return TimeDistributedSpec{WrappedLayer(layer)}; })
        .backward_reads(
            [](const TimeDistributedSpec& spec) { return type_of(spec.layer).backward_reads(spec.layer.spec()); })
        .masked_example("layer: {Dense: {units: 4, activation: relu}}", {{9, 5}})
        .masked_example("layer: {Dropout: 0.2}", {{9, 5}});

}  // namespace

const RecurrentSpec& recurrent_spec(const BidirectionalSpec& spec) {
  const RecurrentSpec* found = nullptr;
  with_recurrent(spec.layer, [&](const RecurrentSpec& inner) { found = &inner; });
  return *found;
}

config::Typed direction_of(const BidirectionalSpec& spec, bool backward) {
  config::Typed found;
  with_recurrent(spec.layer, [&](auto inner) {
    inner.go_backwards = backward;
    found = layer_family().make(std::move(inner));
  });
  return found;
}

std::size_t states_of(const BidirectionalSpec& spec) {
  return static_cast<std::size_t>(type_of(spec.layer).max_inputs) - 1;
}

}  // namespace dptrain::nn
