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
      has_backward_(context.step.has_backward),
      wants_dx_(context.wants_dx()),
      number_bytes_(size_of(context.plan.compute)),
      mask_(context.mask()) {
  for (const bool backward : {false, true}) add_direction(context, device, backward);
  place();
}

void BidirectionalOp::add_direction(const OpContext& context, Device& device, bool backward) {
  Direction& direction = directions_[backward ? 1 : 0];
  const plan::Step& whole = context.step;
  const std::size_t states = nn::states_of(spec_),
                    layer_inputs = whole.masks.empty() ? whole.inputs.size() : whole.masks.size();
  direction.step = {.name = whole.name, .node = whole.node, .spec = nn::direction_of(spec_, backward)};
  direction.inputs.push_back(0);
  for (std::size_t i = 0; layer_inputs > 1 && i < states; ++i)
    direction.inputs.push_back(1 + (backward ? states : 0) + i);
  direction.step.masks.assign(direction.inputs.size(), plan::kAbsent);
  if (mask_) {
    direction.step.masks[0] = static_cast<int>(direction.inputs.size());
    direction.inputs.push_back(*mask_);
  }
  for (std::size_t i = 0; nn::recurrent_spec(spec_).return_state && i < states; ++i)
    direction.outputs.push_back(1 + (backward ? states : 0) + i);
  direction.weights = whole.parameters.size() / 2;
  direction.first_weight = backward ? direction.weights : 0;
  for (const std::size_t i : direction.inputs) direction.step.inputs.push_back(whole.inputs[i]);
  direction.step.outputs = whole.outputs;
  direction.step.frame_axes = whole.frame_axes;
  direction.step.frames = whole.frames;
  direction.step.has_backward = has_backward_;
  const auto first = static_cast<std::ptrdiff_t>(direction.first_weight),
             count = static_cast<std::ptrdiff_t>(direction.weights);
  direction.step.parameters.assign(whole.parameters.begin() + first, whole.parameters.begin() + first + count);
  if (has_backward_) {
    for (const std::size_t i : direction.inputs) direction.step.input_gradients.push_back(whole.input_gradients[i]);
    direction.step.output_gradients = whole.output_gradients;
    direction.step.parameter_gradients.assign(whole.parameter_gradients.begin() + first,
                                              whole.parameter_gradients.begin() + first + count);
  }
  const OpContext inner{.plan = context.plan,
                        .step = direction.step,
                        .rows = context.rows,
                        .seed = context.seed,
                        .stream_id = context.stream(backward ? kDrawsOfOne : 0),
                        .replicas = context.replicas,
                        .alignment = context.alignment};
  direction.op = device.make_op(inner);
  direction.in.resize(direction.inputs.size());
  direction.dx.resize(direction.inputs.size());
  direction.out.resize(1 + direction.outputs.size());
  direction.dy.resize(1 + direction.outputs.size());
  direction.values.resize(direction.weights);
  direction.compute_weights.resize(direction.weights);
  direction.gradients.resize(direction.weights);
}

void BidirectionalOp::prepare(std::int64_t rows) {
  for (Direction& direction : directions_) direction.op->prepare(rows);
  place();
}

void BidirectionalOp::place() {
  const bool sequences = nn::recurrent_spec(spec_).return_sequences;
  const std::uint64_t output = static_cast<std::uint64_t>(rows_ * (sequences ? steps_ : 1) * units_) * number_bytes_;
  const bool multiplies = spec_.merge_mode == nn::MergeMode::kMul;
  Parts saved(nullptr), packed(nullptr), scratch(nullptr);
  for (std::size_t direction = 0; direction < directions_.size(); ++direction) {
    const plan::Need need = directions_[direction].op->need();
    places_.saved[direction] = saved.place_of(need.saved);
    places_.packed[direction] = packed.place_of(need.packed);
    places_.scratch[direction] = scratch.place_of(need.scratch);
    places_.saved_outputs[direction] = saved.place_of(has_backward_ && multiplies ? output : 0);
    places_.passing[direction] = scratch.place_of(output);
    places_.gradients[direction] = places_.passing[direction];  // replace the outputs
  }
  places_.dx = scratch.place_of(wants_dx_ ? static_cast<std::uint64_t>(rows_ * steps_ * features_) * number_bytes_ : 0);
  places_.need = {.saved = saved.taken(), .scratch = scratch.taken(), .packed = packed.taken()};
}

plan::Need BidirectionalOp::need() const { return places_.need; }

std::pair<double, double> BidirectionalOp::flops_per_sample() const {
  const auto one = directions_[0].op->flops_per_sample(), other = directions_[1].op->flops_per_sample();
  return {one.first + other.first, one.second + other.second};
}

OpArgs BidirectionalOp::part_of(const OpArgs& a, std::size_t number) {
  Direction& direction = directions_[number];
  OpArgs part = a;
  for (std::size_t i = 0; i < direction.weights; ++i) {
    const std::size_t w = direction.first_weight + i;
    direction.values[i] = a.weights[w];
    direction.compute_weights[i] = a.compute_weights.empty() ? a.weights[w] : a.compute_weights[w];
    direction.gradients[i] = a.weight_gradients.empty() ? nullptr : a.weight_gradients[w];
  }
  part.weights = direction.values;
  part.compute_weights = direction.compute_weights;
  part.weight_gradients = direction.gradients;
  part.saved = part_at(a.saved, places_.saved[number]);
  part.packed = part_at(a.packed, places_.packed[number]);
  part.scratch = part_at(a.scratch, places_.scratch[number]);
  return part;
}

OpArgs BidirectionalOp::forward_part(const OpArgs& a, std::size_t number, void* output) {
  Direction& direction = directions_[number];
  OpArgs part = part_of(a, number);
  for (std::size_t i = 0; i < direction.inputs.size(); ++i) direction.in[i] = a.inputs[direction.inputs[i]];
  direction.out[0] = output;
  for (std::size_t i = 0; i < direction.outputs.size(); ++i) direction.out[1 + i] = a.outputs[direction.outputs[i]];
  part.inputs = direction.in;
  part.outputs = direction.out;
  return part;
}

OpArgs BidirectionalOp::backward_part(const OpArgs& a, std::size_t number, void* gradient) {
  Direction& direction = directions_[number];
  OpArgs part = forward_part(a, number, nullptr);
  direction.dy[0] = gradient;
  for (std::size_t i = 0; i < direction.outputs.size(); ++i)
    direction.dy[1 + i] = a.output_gradients[direction.outputs[i]];
  for (std::size_t i = 0; i < direction.inputs.size(); ++i) direction.dx[i] = a.input_gradients[direction.inputs[i]];
  if (number == 1 && direction.dx[0] != nullptr) direction.dx[0] = part_at(a.scratch, places_.dx);
  part.output_gradients = direction.dy;
  part.input_gradients = direction.dx;
  return part;
}

std::array<void*, 2> BidirectionalOp::outputs_of(const OpArgs& a, bool for_backward) const {
  std::array<void*, 2> both{};
  for (std::size_t direction = 0; direction < both.size(); ++direction)
    both[direction] = for_backward ? part_at(a.saved, places_.saved_outputs[direction])
                                   : part_at(a.scratch, places_.passing[direction]);
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
  const bool keeps = has_backward_ && a.training && spec_.merge_mode == nn::MergeMode::kMul;
  const std::array<void*, 2> outputs = outputs_of(a, keeps);
  run_forward({forward_part(a, 0, outputs[0]), forward_part(a, 1, outputs[1])});
  merge(a, shape_of(a), outputs[0], outputs[1], a.outputs[0]);
}

void BidirectionalOp::backward(const OpArgs& a) {
  const void* const dy = a.output_gradients[0];
  std::array<void*, 2> gradients{};
  if (dy != nullptr) {
    for (std::size_t direction = 0; direction < gradients.size(); ++direction)
      gradients[direction] = part_at(a.scratch, places_.gradients[direction]);
    const std::array<void*, 2> outputs = outputs_of(a, true);
    split(a, shape_of(a), dy, outputs[0], outputs[1], gradients[0], gradients[1]);
  }
  const Both both{backward_part(a, 0, gradients[0]), backward_part(a, 1, gradients[1])};
  run_backward(both);
  if (a.input_gradients[0] != nullptr)
    add(a, both[1].input_gradients[0], a.input_gradients[0], a.rows * steps_ * features_);
}

void BidirectionalOp::pack(const OpArgs& a) {
  for (std::size_t direction = 0; direction < directions_.size(); ++direction)
    directions_[direction].op->pack(part_of(a, direction));
}

}  // namespace dptrain::backend
