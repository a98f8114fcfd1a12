#include "backend/one_op.h"

#include <gtest/gtest.h>

#include "backend/guarded_memory.h"
#include "core/random.h"
#include "plan/weight_order.h"
#include "support/output_shape.h"

namespace dptrain::test {
namespace {

constexpr std::int64_t kSpareRows = 2;  // the op is made for more rows than a call has

/// Distinct values, evenly spread over [low, high] in random order: no ties, distances above the step of central
/// differences.
std::vector<double> spread_values(std::size_t n, double low, double high, std::uint32_t stream) {
  RandomStream random(42, stream);
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
  for (std::size_t i = n; i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  for (double& value : values) value = rounded(DType::kF32, value);  // exact on the device
  return values;
}

/// Inputs other than the previous output of the tail.
std::size_t other_inputs(const config::Typed& entry) { return nn::type_of(entry).max_inputs == 1 ? 0 : 1; }

/// The layer's inputs, without those of its tail.
std::span<const Shape> own_inputs(const Case& c) {
  std::size_t own = c.inputs.size();
  for (const config::Typed& entry : c.tail) own -= other_inputs(entry);
  return std::span(c.inputs).first(own);
}

/// Calls f(entry, shapes of its inputs, shape of its output) along the tail; returns the last shape.
template <class F>
Shape along_tail(const Case& c, const F& f) {
  Shape shape = output_shape(c.layer, own_inputs(c));
  std::size_t next = own_inputs(c).size();
  for (const config::Typed& entry : c.tail) {
    std::vector<Shape> inputs{shape};
    for (std::size_t i = 0; i < other_inputs(entry); ++i) inputs.push_back(c.inputs[next++]);
    shape = output_shape(entry, inputs);
    f(entry, inputs, shape);
  }
  return shape;
}

using Reorder = void(const plan::Parameter&, const float*, float*);

/// Converts by plan::to_arena_order or plan::to_keras_order.
template <class T>
std::vector<T> reordered(Reorder* reorder, const plan::Parameter& parameter, const std::vector<T>& values) {
  const std::vector<float> from(values.begin(), values.end());
  std::vector<float> to(from.size());
  reorder(parameter, from.data(), to.data());
  return {to.begin(), to.end()};
}

/// Memory of one call, in the device's order.
struct Memory {
  std::vector<Guarded> inputs, weights, compute_weights, input_gradients, weight_gradients, rest;

  Memory(backend::Device& device, backend::Stream& stream, const Case& c, const Data& data, const OneStep& one,
         const plan::Need& need) {
    const DType type = one.plan.compute;
    for (const Tensor& x : data.inputs) {
      inputs.emplace_back(device, stream, above_undone(c, x.values), type);
      input_gradients.emplace_back(device, stream, x.values.size(), type);
    }
    for (std::size_t i = 0; i < data.weights.size(); ++i) {
      const auto values = reordered(plan::to_arena_order, one.plan.parameters[i], data.weights[i].values);
      weights.emplace_back(device, stream, values);
      if (type != DType::kF32) compute_weights.emplace_back(device, stream, values, type);
      weight_gradients.emplace_back(device, stream, values.size());
    }
    rest.emplace_back(device, stream, batch(c.rows, one.output()).values.size(), type);
    for (const std::uint64_t bytes : {need.saved, need.scratch, need.packed, need.first_pass_scratch})
      rest.emplace_back(device, stream, (bytes + 1) / 2, DType::kBf16);
  }

  const Guarded& output() const { return rest[0]; }
  const Guarded& saved() const { return rest[1]; }
  const Guarded& scratch() const { return rest[2]; }
  const Guarded& packed() const { return rest[3]; }
  const Guarded& first_pass_scratch() const { return rest[4]; }
};

template <class T>
std::vector<T*> pointers(const std::vector<Guarded>& buffers) {
  std::vector<T*> all;
  for (const Guarded& buffer : buffers) all.push_back(static_cast<T*>(buffer.data()));
  return all;
}

/// Sizes and pointers of one call; unwanted gradients are null.
struct Call {
  std::vector<const void*> inputs, compute_weights;
  void* output;
  std::vector<const float*> weights;
  std::vector<void*> input_gradients;
  std::vector<float*> weight_gradients;
  backend::OpArgs args;

  Call(const Case& c, const OneStep& one, const Memory& memory, bool training)
      : inputs(pointers<const void>(memory.inputs)),
        compute_weights(
            pointers<const void>(one.plan.compute == DType::kF32 ? memory.weights : memory.compute_weights)),
        output(memory.output().data()),
        weights(pointers<const float>(memory.weights)),
        input_gradients(pointers<void>(memory.input_gradients)),
        weight_gradients(pointers<float>(memory.weight_gradients)) {
    for (std::size_t i = 0; i < input_gradients.size(); ++i)
      if (one.step().input_gradients[i] == plan::kAbsent) input_gradients[i] = nullptr;
    for (std::size_t i = 0; i < weight_gradients.size(); ++i)
      if (!one.step().parameter_gradients[i]) weight_gradients[i] = nullptr;
    args.rows = c.rows;
    args.first_row = kFirstRow;
    args.step = kStep;
    args.share = kShare;
    args.training = training && !c.inference_mode;  // as in runtime::StepRunner
    args.inputs = inputs;
    args.outputs = {&output, 1};
    args.weights = weights;
    args.compute_weights = compute_weights;
    args.saved = training ? memory.saved().data() : nullptr;
    args.scratch = memory.scratch().data();
    args.first_pass_scratch = memory.first_pass_scratch().data();
    args.packed = memory.packed().data();
    if (training) args.weight_gradients = weight_gradients;
  }
};

/// The memory that Op::pack() may read and write.
backend::OpArgs pack_args(const backend::OpArgs& args) {
  return {.weights = args.weights,
          .compute_weights = args.compute_weights,
          .packed = args.packed,
          .scratch = args.scratch,
          .stream = args.stream};
}

/// Frees tensors that backward does not read by the layer's definition; returns NaN-filled memory in their place.
std::vector<Guarded> free_unread(backend::Device& device, const OneStep& one, Call& call) {
  const plan::StepReads reads = plan::backward_reads(one.step());
  std::vector<Guarded> freed;
  const auto nan = [&](int tensor) {
    const auto elements =
        static_cast<std::size_t>(call.args.rows * one.plan.tensors[static_cast<std::size_t>(tensor)].shape.elements());
    return freed.emplace_back(device, *call.args.stream, elements, one.plan.compute).data();
  };
  for (std::size_t i = reads.inputs.size(); i < call.inputs.size(); ++i) call.inputs[i] = nan(one.step().inputs[i]);
  if (!reads.output) call.output = nan(one.step().output());
  return freed;
}

/// Returns the memory of the output's gradient after the call.
std::vector<float> run_backward(backend::Device& device, backend::Op& op, const Case& c, const Data& data,
                                const OneStep& one, Call& call, const Memory& memory,
                                const std::vector<float>& output) {
  std::vector<double> gradient = data.output_gradient.values;
  if (c.undone)
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = output[i] > 0 ? gradient[i] : 0.0;
  const Guarded output_gradient(device, *call.args.stream, gradient, device.options().compute);
  const auto before = memory.output().bytes("output");
  const std::vector<Guarded> freed = free_unread(device, one, call);
  void* const gradients[] = {output_gradient.data()};
  call.args.output_gradients = gradients;
  for (std::size_t i = 0; i < call.input_gradients.size(); ++i)
    if (plan::passes_gradient(one.step(), i) && call.input_gradients[i] != nullptr)
      call.input_gradients[i] = output_gradient.data();
  call.args.input_gradients = call.input_gradients;
  op.backward(call.args);
  EXPECT_TRUE(before == memory.output().bytes("output")) << "backward changed the output";
  return output_gradient.read("output gradient");
}

}  // namespace

std::vector<nn::WeightDef> weights_of(const Case& c) {
  return nn::type_of(c.layer).weights(c.layer.spec(), own_inputs(c));
}

OneStep::OneStep(const Case& c, Wanted wanted, const backend::Device& device) : weights(weights_of(c)) {
  plan.compute = device.options().compute;
  plan::Step step;
  step.name = "layer";
  plan::set_layer(step, c.layer, c.inputs.front());
  step.undoes = c.undoes;
  step.inference_mode = c.inference_mode;
  step.has_backward = true;
  for (const Shape& shape : c.inputs) step.inputs.push_back(tensor("in", shape));
  add_tail(c, step, device);
  if (c.undoes) fused = fused && device.undoes(step, {.layer = c.undoes});
  const Shape output = along_tail(c, [](const auto&...) {});
  step.outputs = {tensor("out", output)};
  step.output_gradients = {tensor("d out", output)};
  for (const Shape& shape : c.inputs) {
    const bool unwanted =
        wanted == Wanted::kWeights || (wanted == Wanted::kFirstInput && !step.input_gradients.empty());
    step.input_gradients.push_back(unwanted ? plan::kAbsent : tensor("d in", shape));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    step.parameters.push_back(static_cast<int>(i));
    step.parameter_gradients.push_back((wanted != Wanted::kInputs || !weights[i].trainable) && !weights[i].constant);
    step.parameter_gradient_tensors.push_back(plan::kAbsent);
    plan::Parameter parameter;
    parameter.shape = weights[i].shape;
    parameter.order = plan::weight_order(device, c.layer, i);
    parameter.kind = weights[i].trainable  ? plan::ParameterKind::kTrainable
                     : weights[i].constant ? plan::ParameterKind::kFrozen
                                           : plan::ParameterKind::kStatistic;
    plan.parameters.push_back(parameter);
  }
  plan.steps.push_back(step);
}

/// Adds what the device supports; it may reject the fusion, which does not affect forward.
void OneStep::add_tail(const Case& c, plan::Step& step, const backend::Device& device) {
  const auto seen = [&](std::span<const Shape> shapes) {
    std::vector<Shape> all;
    for (const Shape& shape : shapes) all.push_back(plan::shape_for_op(step, shape));
    return all;
  };
  along_tail(c, [&](const config::Typed& entry, const std::vector<Shape>& inputs, const Shape& output) {
    const std::vector<Shape> own = seen(own_inputs(c)), before = seen(inputs);
    const Shape after = plan::shape_for_op(step, output);
    const std::optional<plan::TailFusion> fusion =
        device.fuses({.step = step, .inputs = own, .layer = entry, .layer_inputs = before, .layer_output = after});
    fused = fused && fusion.has_value();
    step.tail.push_back(
        {.layer = entry, .fusion = fusion.value_or(plan::TailFusion{}), .other_inputs = other_inputs(entry)});
  });
  if (c.undone) step.tail.back().undone = true;
}

int OneStep::tensor(const std::string& name, const Shape& shape) {
  plan.tensors.push_back({.name = name, .shape = shape, .type = plan.compute});
  return static_cast<int>(plan.tensors.size()) - 1;
}

std::vector<double> above_undone(const Case& c, std::vector<double> values) {
  if (c.undoes)
    for (double& value : values) value = activation(c.undoes.as<nn::ActivationSpec>().activation, value);
  return values;
}

Data make_data(const Case& c) {
  Data data;
  std::uint32_t stream = 1;
  for (const Shape& shape : c.inputs) {
    data.inputs.push_back(batch(c.rows, shape));
    auto& values = data.inputs.back().values;
    values = spread_values(values.size(), c.low, c.high, stream++);
  }
  if (c.values) c.values(data.inputs);
  for (const auto& weight : weights_of(c)) {
    data.weights.emplace_back(weight.shape.dims());
    auto& values = data.weights.back().values;
    values = spread_values(values.size(), -1, 1, stream++);
  }
  if (c.weights) c.weights(data.weights);
  data.output_gradient = batch(c.rows, along_tail(c, [](const auto&...) {}));
  auto& r = data.output_gradient.values;
  r = spread_values(r.size(), -1, 1, stream);
  return data;
}

Data rounded(DType type, Data data) {
  for (auto* group : {&data.inputs, &data.weights})
    for (Tensor& tensor : *group) tensor.values = rounded(type, std::move(tensor.values));
  data.output_gradient.values = rounded(type, std::move(data.output_gradient.values));
  return data;
}

Outcome run(backend::Device& device, const Case& c, const Data& data, bool training, Wanted wanted) {
  shuffle();
  device.enter();
  const auto stream = device.make_stream();
  const OneStep one(c, wanted, device);
  const auto op = device.make_op(one.context(c.rows + kSpareRows));
  if (c.prepares_rows) op->prepare(c.rows);
  const Memory memory(device, *stream, c, data, one, op->need());
  Call call(c, one, memory, training);
  const auto state = device.allocate(sizeof(kernels::StepState));
  const kernels::StepState host_state{.step = kStep};
  device.copy_to_device(state->data(), &host_state, sizeof(host_state), *stream);
  call.args.state = state->as<kernels::StepState>();
  call.args.stream = stream.get();

  if (op->need().packed > 0) op->pack(pack_args(call.args));
  op->forward(call.args);
  Outcome outcome;
  outcome.output = memory.output().read("output");
  std::vector<float> spent;
  if (training && c.differentiable) spent = run_backward(device, *op, c, data, one, call, memory, outcome.output);
  stream->synchronize();
  for (std::size_t i = 0; training && i < memory.input_gradients.size(); ++i) {
    auto values = memory.input_gradients[i].read("input gradient " + std::to_string(i));
    if (plan::passes_gradient(one.step(), i)) values = spent;
    if (call.input_gradients[i] == nullptr) values.clear();
    outcome.input_gradients.push_back(std::move(values));
  }
  for (std::size_t i = 0; training && i < memory.weight_gradients.size(); ++i) {
    auto values = memory.weight_gradients[i].read("gradient of " + one.weights[i].name);
    if (call.weight_gradients[i] == nullptr) values.clear();
    outcome.weight_gradients.push_back(
        values.empty() ? values : reordered(plan::to_keras_order, one.plan.parameters[i], values));
  }
  memory.saved().read("saved");
  memory.scratch().read("scratch");
  memory.packed().read("packed");
  memory.first_pass_scratch().read("first pass scratch");
  return outcome;
}

}  // namespace dptrain::test
