#include "backend/bidirectional.h"

#include "backend/parts.h"

namespace dptrain::backend {
namespace {

kernels::DirectionMerge merge_of(nn::MergeMode mode) {
  switch (mode) {
    case nn::MergeMode::kConcat: return kernels::DirectionMerge::kConcat;
    case nn::MergeMode::kSum: return kernels::DirectionMerge::kSum;
    case nn::MergeMode::kMul: return kernels::DirectionMerge::kMul;
    case nn::MergeMode::kAve: return kernels::DirectionMerge::kAve;
  }
  return {};
}

void* part_at(void* memory, std::uint64_t place) {
  return memory == nullptr ? nullptr : static_cast<std::byte*>(memory) + place;
}

}  // namespace

BidirectionalOp::BidirectionalOp(const nn::BidirectionalSpec& spec, const OpContext& context, Device& device)
    : spec_(spec),
      rows_(context.rows),
      steps_(context.input(0)[0]),
      features_(context.input(0)[1]),
      units_(nn::recurrent_spec(spec).units),
      keeps_(context.step.has_backward),
      wants_dx_(keeps_ && context.step.input_gradients[0] != plan::kAbsent),
      number_bytes_(size_of(context.plan.compute)),
      mask_(context.mask()) {
  for (const bool backward : {false, true}) add_way(context, device, backward);
  place();
}

void BidirectionalOp::add_way(const OpContext& context, Device& device, bool backward) {
  Way& way = ways_[backward ? 1 : 0];
  const plan::Step& whole = context.step;
  const std::size_t states = nn::states_of(spec_),
                    layer_inputs = whole.masks.empty() ? whole.inputs.size() : whole.masks.size();
  way.step = {.name = whole.name, .node = whole.node, .spec = nn::direction_of(spec_, backward)};
  way.inputs.push_back(0);
  for (std::size_t i = 0; layer_inputs > 1 && i < states; ++i) way.inputs.push_back(1 + (backward ? states : 0) + i);
  way.step.masks.assign(way.inputs.size(), plan::kAbsent);
  if (mask_) {
    way.step.masks[0] = static_cast<int>(way.inputs.size());
    way.inputs.push_back(*mask_);
  }
  for (std::size_t i = 0; nn::recurrent_spec(spec_).return_state && i < states; ++i)
    way.outputs.push_back(1 + (backward ? states : 0) + i);
  way.weights = whole.parameters.size() / 2;
  way.first_weight = backward ? way.weights : 0;
  for (const std::size_t i : way.inputs) way.step.inputs.push_back(whole.inputs[i]);
  way.step.outputs = whole.outputs;
  way.step.frame_axes = whole.frame_axes;
  way.step.frames = whole.frames;
  way.step.has_backward = keeps_;
  const auto first = static_cast<std::ptrdiff_t>(way.first_weight), count = static_cast<std::ptrdiff_t>(way.weights);
  way.step.parameters.assign(whole.parameters.begin() + first, whole.parameters.begin() + first + count);
  if (keeps_) {
    for (const std::size_t i : way.inputs) way.step.input_gradients.push_back(whole.input_gradients[i]);
    way.step.output_gradients = whole.output_gradients;
    way.step.parameter_gradients.assign(whole.parameter_gradients.begin() + first,
                                        whole.parameter_gradients.begin() + first + count);
  }
  const OpContext inner{.plan = context.plan,
                        .step = way.step,
                        .rows = context.rows,
                        .seed = context.seed,
                        .stream_id = context.stream(backward ? kDrawsOfOne : 0),
                        .replicas = context.replicas,
                        .alignment = context.alignment};
  way.op = device.make_op(inner);
  way.in.resize(way.inputs.size());
  way.dx.resize(way.inputs.size());
  way.out.resize(1 + way.outputs.size());
  way.dy.resize(1 + way.outputs.size());
  way.values.resize(way.weights);
  way.compute_weights.resize(way.weights);
  way.gradients.resize(way.weights);
}

void BidirectionalOp::prepare(std::int64_t rows) {
  for (Way& way : ways_) way.op->prepare(rows);
  place();
}

void BidirectionalOp::place() {
  const bool sequences = nn::recurrent_spec(spec_).return_sequences;
  const std::uint64_t output = static_cast<std::uint64_t>(rows_ * (sequences ? steps_ : 1) * units_) * number_bytes_;
  const bool multiplies = spec_.merge_mode == nn::MergeMode::kMul;
  Parts saved(nullptr), packed(nullptr), scratch(nullptr);
  for (std::size_t way = 0; way < ways_.size(); ++way) {
    const plan::Need need = ways_[way].op->need();
    places_.saved[way] = saved.place_of(need.saved);
    places_.packed[way] = packed.place_of(need.packed);
    places_.scratch[way] = scratch.place_of(need.scratch);
    places_.kept[way] = saved.place_of(keeps_ && multiplies ? output : 0);
    places_.passing[way] = scratch.place_of(output);
    places_.gradients[way] = places_.passing[way];  // replace the outputs
  }
  places_.dx = scratch.place_of(wants_dx_ ? static_cast<std::uint64_t>(rows_ * steps_ * features_) * number_bytes_ : 0);
  places_.need = {.saved = saved.taken(), .scratch = scratch.taken(), .packed = packed.taken()};
}

plan::Need BidirectionalOp::need() const { return places_.need; }

std::pair<double, double> BidirectionalOp::flops_per_sample() const {
  const auto one = ways_[0].op->flops_per_sample(), other = ways_[1].op->flops_per_sample();
  return {one.first + other.first, one.second + other.second};
}

OpArgs BidirectionalOp::part_of(const OpArgs& a, std::size_t number) {
  Way& way = ways_[number];
  OpArgs part = a;
  for (std::size_t i = 0; i < way.weights; ++i) {
    const std::size_t w = way.first_weight + i;
    way.values[i] = a.weights[w];
    way.compute_weights[i] = a.compute_weights.empty() ? a.weights[w] : a.compute_weights[w];
    way.gradients[i] = a.weight_gradients.empty() ? nullptr : a.weight_gradients[w];
  }
  part.weights = way.values;
  part.compute_weights = way.compute_weights;
  part.weight_gradients = way.gradients;
  part.saved = part_at(a.saved, places_.saved[number]);
  part.packed = part_at(a.packed, places_.packed[number]);
  part.scratch = part_at(a.scratch, places_.scratch[number]);
  return part;
}

OpArgs BidirectionalOp::forward_part(const OpArgs& a, std::size_t number, void* output) {
  Way& way = ways_[number];
  OpArgs part = part_of(a, number);
  for (std::size_t i = 0; i < way.inputs.size(); ++i) way.in[i] = a.inputs[way.inputs[i]];
  way.out[0] = output;
  for (std::size_t i = 0; i < way.outputs.size(); ++i) way.out[1 + i] = a.outputs[way.outputs[i]];
  part.inputs = way.in;
  part.outputs = way.out;
  return part;
}

OpArgs BidirectionalOp::backward_part(const OpArgs& a, std::size_t number, void* gradient) {
  Way& way = ways_[number];
  OpArgs part = forward_part(a, number, nullptr);
  way.dy[0] = gradient;
  for (std::size_t i = 0; i < way.outputs.size(); ++i) way.dy[1 + i] = a.output_gradients[way.outputs[i]];
  for (std::size_t i = 0; i < way.inputs.size(); ++i) way.dx[i] = a.input_gradients[way.inputs[i]];
  if (number == 1 && way.dx[0] != nullptr) way.dx[0] = part_at(a.scratch, places_.dx);
  part.output_gradients = way.dy;
  part.input_gradients = way.dx;
  return part;
}

std::array<void*, 2> BidirectionalOp::outputs_of(const OpArgs& a, bool for_backward) const {
  std::array<void*, 2> both{};
  for (std::size_t way = 0; way < both.size(); ++way)
    both[way] = for_backward ? part_at(a.saved, places_.kept[way]) : part_at(a.scratch, places_.passing[way]);
  return both;
}

kernels::DirectionShape BidirectionalOp::shape_of(const OpArgs& a) const {
  const bool sequences = nn::recurrent_spec(spec_).return_sequences;
  return {.rows = a.rows,
          .steps = sequences ? steps_ : 1,
          .units = units_,
          .merge = merge_of(spec_.merge_mode),
          .mask = sequences && mask_ ? a.in<std::uint8_t>(*mask_) : nullptr};
}

void BidirectionalOp::forward(const OpArgs& a) {
  const bool keeps = keeps_ && a.training && spec_.merge_mode == nn::MergeMode::kMul;
  const std::array<void*, 2> outputs = outputs_of(a, keeps);
  run_forward({forward_part(a, 0, outputs[0]), forward_part(a, 1, outputs[1])});
  merge(a, shape_of(a), outputs[0], outputs[1], a.outputs[0]);
}

void BidirectionalOp::backward(const OpArgs& a) {
  const void* const dy = a.output_gradients[0];
  std::array<void*, 2> gradients{};
  if (dy != nullptr) {
    for (std::size_t way = 0; way < gradients.size(); ++way)
      gradients[way] = part_at(a.scratch, places_.gradients[way]);
    const std::array<void*, 2> outputs = outputs_of(a, true);
    split(a, shape_of(a), dy, outputs[0], outputs[1], gradients[0], gradients[1]);
  }
  const Both both{backward_part(a, 0, gradients[0]), backward_part(a, 1, gradients[1])};
  run_backward(both);
  if (a.input_gradients[0] != nullptr)
    add(a, both[1].input_gradients[0], a.input_gradients[0], a.rows * steps_ * features_);
}

void BidirectionalOp::pack(const OpArgs& a) {
  for (std::size_t way = 0; way < ways_.size(); ++way) ways_[way].op->pack(part_of(a, way));
}

}  // namespace dptrain::backend
