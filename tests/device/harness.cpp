#include "device/harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "core/random.h"
#include "device/guarded.h"

namespace dptrain::test {
namespace {

constexpr double kDifference = 1e-5;    // step of central differences: truncation and rounding both about 1e-10
constexpr std::int64_t kSpareRows = 2;  // the op is made for more rows than a call has

/// Distinct values, evenly spread over [low, high] in random order: no ties, none closer than the step of differences.
std::vector<double> spread_values(std::size_t n, double low, double high, std::uint32_t stream) {
  RandomStream random(42, stream);
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
  for (std::size_t i = n; i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));  // exact on the device
  return values;
}

struct Data {
  std::vector<Tensor> inputs, weights;
  Tensor output_gradient;
};

/// What one forward and backward left.
struct Outcome {
  std::vector<float> output;
  std::vector<std::vector<float>> input_gradients, weight_gradients;  // empty where not wanted; statistics included
  bool operator==(const Outcome&) const = default;
};

enum class Wanted { kAll, kInputs, kWeights, kFirstInput };

/// A plan of one step, by hand.
struct OneStep {
  plan::Plan plan;
  std::vector<layers::WeightDef> weights;

  OneStep(const Case& c, Wanted wanted) {
    const layers::LayerType& type = layers::type_of(c.layer);
    weights = type.weights(c.layer.spec(), c.inputs);
    plan::Step step;
    step.name = "layer";
    step.spec = c.layer;
    step.epilogue = c.epilogue;
    step.epilogue_undone = c.epilogue_undone;
    step.masks_relu = c.masks_relu;
    step.inference_mode = c.inference_mode;
    step.has_backward = true;
    for (const Shape& shape : c.inputs) step.inputs.push_back(tensor("in", shape));
    const Shape output = type.output(c.layer.spec(), c.inputs);
    step.output = tensor("out", output);
    step.output_gradient = tensor("d out", output);
    for (const Shape& shape : c.inputs) {
      const bool unwanted =
          wanted == Wanted::kWeights || (wanted == Wanted::kFirstInput && !step.input_gradients.empty());
      step.input_gradients.push_back(unwanted ? plan::kAbsent : tensor("d in", shape));
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      step.parameters.push_back(static_cast<int>(i));
      step.parameter_gradients.push_back(wanted != Wanted::kInputs || !weights[i].trainable);
      step.parameter_gradient_tensors.push_back(plan::kAbsent);
      plan::Parameter parameter;
      parameter.shape = weights[i].shape;
      parameter.kind = weights[i].trainable ? plan::ParameterKind::kTrainable : plan::ParameterKind::kStatistic;
      plan.parameters.push_back(parameter);
    }
    plan.steps.push_back(step);
  }

  int tensor(const std::string& name, const Shape& shape) {
    plan.tensors.push_back({.name = name, .shape = shape});
    return static_cast<int>(plan.tensors.size()) - 1;
  }
  const plan::Step& step() const { return plan.steps[0]; }
  Shape output() const { return plan.tensors[static_cast<std::size_t>(step().output)].shape; }

  device::OpContext context(std::int64_t rows) const {
    return {.plan = plan, .step = step(), .rows = rows, .seed = kSeed, .stream_id = kStreamId, .replicas = 1};
  }
};

std::vector<double> rectified(std::vector<double> values) {
  for (double& value : values) value = std::max(value, 0.0);
  return values;
}

template <class T>
std::vector<T*> pointers(const std::vector<Guarded>& buffers) {
  std::vector<T*> all;
  for (const Guarded& buffer : buffers) all.push_back(buffer.data());
  return all;
}

/// Runs the op once, everything freshly made and poisoned.
Outcome run(device::Device& device, const Case& c, const Data& data, bool training, Wanted wanted) {
  const OneStep one(c, wanted);
  device.enter();
  const auto stream = device.make_stream();
  const auto op = device.make_op(one.context(c.rows + kSpareRows));
  if (c.prepares_rows) op->prepare(c.rows);
  const plan::Need need = op->need();
  const auto floats = [](std::uint64_t bytes) { return (bytes + sizeof(float) - 1) / sizeof(float); };

  std::vector<Guarded> inputs, weights, input_gradients, weight_gradients;
  for (const Tensor& x : data.inputs)
    inputs.emplace_back(device, *stream, c.masks_relu ? rectified(x.values) : x.values);
  for (const Tensor& w : data.weights) weights.emplace_back(device, *stream, w.values);
  for (const Tensor& x : data.inputs) input_gradients.emplace_back(device, *stream, x.values.size());
  for (const Tensor& w : data.weights) weight_gradients.emplace_back(device, *stream, w.values.size());
  const Guarded output(device, *stream, batch(c.rows, one.output()).values.size());
  const Guarded saved(device, *stream, floats(need.saved)), scratch(device, *stream, floats(need.scratch));

  const auto input_pointers = pointers<const float>(inputs), weight_pointers = pointers<const float>(weights);
  auto input_gradient_pointers = pointers<float>(input_gradients);
  auto weight_gradient_pointers = pointers<float>(weight_gradients);
  for (std::size_t i = 0; i < input_gradient_pointers.size(); ++i)
    if (one.step().input_gradients[i] == plan::kAbsent) input_gradient_pointers[i] = nullptr;
  for (std::size_t i = 0; i < weight_gradient_pointers.size(); ++i)
    if (!one.step().parameter_gradients[i]) weight_gradient_pointers[i] = nullptr;

  device::OpArgs args;
  args.rows = c.rows;
  args.first_row = kFirstRow;
  args.step = kStep;
  args.share = kShare;
  args.training = training;
  args.inputs = input_pointers;
  args.output = output.data();
  args.weights = weight_pointers;
  args.saved = training ? saved.data() : nullptr;
  args.scratch = scratch.data();
  args.stream = stream.get();
  if (training) args.weight_gradients = weight_gradient_pointers;
  op->forward(args);

  Outcome outcome;
  outcome.output = output.read("output");
  if (training && c.differentiable) {
    std::vector<double> gradient = data.output_gradient.values;
    if (c.epilogue_undone)  // ReLU, undone by the consumer
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = outcome.output[i] > 0 ? gradient[i] : 0.0;
    const Guarded output_gradient(device, *stream, gradient);
    args.output_gradient = output_gradient.data();
    args.input_gradients = input_gradient_pointers;
    op->backward(args);
    output_gradient.read("output gradient");
    EXPECT_EQ(0,
              std::memcmp(output.read("output").data(), outcome.output.data(), outcome.output.size() * sizeof(float)))
        << "backward changed the output";
  }
  stream->synchronize();
  for (std::size_t i = 0; training && i < input_gradients.size(); ++i) {
    auto values = input_gradients[i].read("input gradient " + std::to_string(i));
    if (input_gradient_pointers[i] == nullptr) values.clear();
    outcome.input_gradients.push_back(std::move(values));
  }
  for (std::size_t i = 0; training && i < weight_gradients.size(); ++i) {
    auto values = weight_gradients[i].read("gradient of " + one.weights[i].name);
    if (weight_gradient_pointers[i] == nullptr) values.clear();
    outcome.weight_gradients.push_back(std::move(values));
  }
  saved.read("saved");
  scratch.read("scratch");
  return outcome;
}

Data make_data(const Case& c) {
  const OneStep one(c, Wanted::kAll);
  Data data;
  std::uint32_t stream = 1;
  for (const Shape& shape : c.inputs) {
    data.inputs.push_back(batch(c.rows, shape));
    auto& values = data.inputs.back().values;
    values = spread_values(values.size(), c.low, c.high, stream++);
  }
  for (const auto& weight : one.weights) {
    data.weights.emplace_back(weight.shape.dims());
    auto& values = data.weights.back().values;
    values = spread_values(values.size(), -1, 1, stream++);
  }
  if (c.weights) c.weights(data.weights);
  data.output_gradient = batch(c.rows, one.output());
  auto& r = data.output_gradient.values;
  r = spread_values(r.size(), -1, 1, stream);
  return data;
}

Tensor with_epilogue(const Case& c, Tensor y) {
  for (double& value : y.values) value = activation(c.epilogue, value);
  return y;
}

/// d sum(r y) / d values, by central differences, `values` being part of `data`.
std::vector<double> differences(const std::function<Tensor()>& forward, const Tensor& r, std::vector<double>& values) {
  const auto loss = [&] {
    const Tensor y = forward();
    return std::inner_product(y.values.begin(), y.values.end(), r.values.begin(), 0.0);
  };
  std::vector<double> gradient(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    values[i] = value + kDifference;
    const double above = loss();
    values[i] = value - kDifference;
    gradient[i] = (above - loss()) / (2 * kDifference);
    values[i] = value;
  }
  return gradient;
}

void expect_same_bits(const Outcome& a, const Outcome& b, const char* what) {
  const auto same = [](const std::vector<float>& p, const std::vector<float>& q) {
    return p.size() == q.size() && (p.empty() || std::memcmp(p.data(), q.data(), p.size() * sizeof(float)) == 0);
  };
  EXPECT_TRUE(same(a.output, b.output)) << what << ": output";
  const auto compare = [&](const auto& p, const auto& q, const char* of) {
    ASSERT_EQ(p.size(), q.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      const bool unwanted = p[i].empty() || q[i].empty();
      EXPECT_TRUE(unwanted || same(p[i], q[i])) << what << ": gradient of " << of << " " << i;
    }
  };
  compare(a.input_gradients, b.input_gradients, "input");
  compare(a.weight_gradients, b.weight_gradients, "weight");
}

/// What every device must come near to.
struct Expected {
  Tensor output, inference;
  std::vector<std::vector<double>> input_gradients, weight_gradients;  // weights: empty for statistics
  std::vector<Tensor> statistics;
};

Expected expectation(const Case& c, const Reference& reference, Data& data,
                     const std::vector<layers::WeightDef>& defs) {
  const auto forward = [&](const Reference& f) {
    std::vector<Tensor> inputs = data.inputs;
    if (c.masks_relu)
      for (Tensor& x : inputs) x.values = rectified(std::move(x.values));
    return with_epilogue(c, f(inputs, data.weights));
  };
  Expected expected;
  expected.output = forward(reference);
  expected.inference = c.inference ? forward(c.inference) : expected.output;
  if (c.statistics) expected.statistics = c.statistics(data.inputs);
  if (!c.differentiable) return expected;
  const auto value = [&] { return forward(reference); };
  for (Tensor& x : data.inputs) expected.input_gradients.push_back(differences(value, data.output_gradient, x.values));
  for (std::size_t i = 0; i < data.weights.size(); ++i)
    expected.weight_gradients.push_back(
        defs[i].trainable ? differences(value, data.output_gradient, data.weights[i].values) : std::vector<double>{});
  return expected;
}

void compare(const Case& c, const Expected& expected, const Outcome& found,
             const std::vector<layers::WeightDef>& defs) {
  expect_close(found.output, expected.output.values, c.tolerance, "output");
  for (std::size_t i = 0; i < expected.input_gradients.size(); ++i)
    expect_close(found.input_gradients[i], expected.input_gradients[i], c.gradient_tolerance,
                 "gradient of input " + std::to_string(i));
  std::size_t statistic = 0;
  for (std::size_t i = 0; i < defs.size(); ++i) {
    if (defs[i].trainable) {
      if (c.differentiable)
        expect_close(found.weight_gradients[i], expected.weight_gradients[i], c.gradient_tolerance,
                     "gradient of " + defs[i].name);
    } else if (c.statistics) {
      std::vector<double> values = expected.statistics[statistic++].values;
      for (double& value : values) value *= kShare;
      expect_close(found.weight_gradients[i], values, c.tolerance, "share of " + defs[i].name);
    }
  }
}

}  // namespace

Tensor::Tensor(std::vector<std::int64_t> extents, double value) : dims(std::move(extents)) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  values.assign(static_cast<std::size_t>(n), value);
}

std::size_t Tensor::offset(std::initializer_list<std::int64_t> indices) const {
  std::int64_t at = 0;
  auto extent = dims.begin();
  for (const std::int64_t index : indices) at = at * *extent++ + index;
  return static_cast<std::size_t>(at);
}

Tensor batch(std::int64_t rows, const Shape& sample) {
  std::vector<std::int64_t> dims = sample.dims();
  dims.insert(dims.begin(), rows);
  return Tensor(std::move(dims));
}

double activation(layers::Activation f, double x) {
  constexpr double kSeluScale = 1.0507009873554805, kSeluAlpha = 1.6732632423543772;
  using A = layers::Activation;
  switch (f) {
    case A::kLinear:
    case A::kSoftmax: return x;
    case A::kRelu: return std::max(x, 0.0);
    case A::kRelu6: return std::min(std::max(x, 0.0), 6.0);
    case A::kLeakyRelu: return x > 0 ? x : 0.2 * x;
    case A::kElu: return x > 0 ? x : std::expm1(x);
    case A::kSelu: return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x));
    case A::kGelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case A::kSwish: return x / (1 + std::exp(-x));
    case A::kTanh: return std::tanh(x);
    case A::kSigmoid: return 1 / (1 + std::exp(-x));
    case A::kSoftplus: return std::log1p(std::exp(x));
  }
  return x;
}

std::vector<std::unique_ptr<device::Device>> devices(const device::RuntimeOptions& options) {
  std::vector<std::unique_ptr<device::Device>> all;
  for (const int threads : {1, 3}) all.push_back(device::make_cpu_device(0, threads, options));
  return all;
}

void agrees(const Case& c, const Reference& reference) {
  const std::vector<layers::WeightDef> defs = OneStep(c, Wanted::kAll).weights;
  Data data = make_data(c);
  const Expected expected = expectation(c, reference, data, defs);
  std::vector<Outcome> outcomes;
  for (const auto& device : devices(c.options)) {
    SCOPED_TRACE(device->description() + ": " + c.layer.name() + " of " + c.inputs[0].str());
    const Outcome found = run(*device, c, data, true, Wanted::kAll);
    compare(c, expected, found, defs);
    expect_same_bits(found, run(*device, c, data, true, Wanted::kAll), "second run");
    expect_same_bits(found, run(*device, c, data, true, Wanted::kInputs), "without weight gradients");
    if (!defs.empty())
      expect_same_bits(found, run(*device, c, data, true, Wanted::kWeights), "without input gradients");
    if (c.inputs.size() > 1)
      expect_same_bits(found, run(*device, c, data, true, Wanted::kFirstInput),
                       "with the first input's gradient alone");
    const Outcome inference = run(*device, c, data, false, Wanted::kAll);
    expect_close(inference.output, expected.inference.values, c.tolerance, "output in inference");
    outcomes.push_back(found);
  }
  if (c.same_bits_on_all_threads) expect_same_bits(outcomes[0], outcomes[1], "another number of threads");
}

std::vector<float> infer(device::Device& device, const Case& c, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& weights) {
  return run(device, c, {.inputs = inputs, .weights = weights, .output_gradient = {}}, false, Wanted::kAll).output;
}

std::vector<std::vector<float>> train(device::Device& device, const Case& c) {
  Outcome outcome = run(device, c, make_data(c), true, Wanted::kAll);
  std::vector<std::vector<float>> all{std::move(outcome.output)};
  for (auto* group : {&outcome.input_gradients, &outcome.weight_gradients})
    for (auto& values : *group) all.push_back(std::move(values));
  return all;
}

std::string implementation(device::Device& device, const Case& c) {
  const OneStep one(c, Wanted::kAll);
  device.enter();
  return device.make_op(one.context(c.rows))->implementation();
}

void expect_close(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
    // Written so that NaN fails. Says the first and stops: one wrong element rarely comes alone.
    if (!(difference <= tolerance * std::max(largest, 1e-3))) {
      ADD_FAILURE() << what << "[" << i << "]: found " << found[i] << ", expected " << expected[i] << " +- "
                    << tolerance * largest;
      return;
    }
  }
}

}  // namespace dptrain::test
