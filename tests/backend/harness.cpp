#include "backend/harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backend/number_types.h"
#include "backend/one_op.h"
#include "support/activations.h"
#include "support/sanitizer.h"

namespace dptrain::test {
namespace {

constexpr double kDifference = 1e-5;  // step of central differences: truncation and rounding both about 1e-10

/// The activation of the case's tail.
Tensor activated(const Case& c, Tensor y) {
  for (const config::Typed& entry : c.tail)
    if (const auto* spec = entry.get_if<nn::ActivationSpec>())
      for (double& value : y.values) value = activation(spec->activation, value);
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

/// Reference values for every device.
struct Expected {
  Tensor output, inference;
  std::vector<Tensor> statistics;
  std::vector<std::vector<double>> input_gradients, weight_gradients;  // weights: empty for statistics
};

/// Without gradients.
Expected values_of(const Case& c, const Reference& reference, const Data& data) {
  const auto forward = [&](const Reference& f) {
    std::vector<Tensor> inputs = data.inputs;
    for (Tensor& x : inputs) x.values = above_undone(c, std::move(x.values));
    return activated(c, f(inputs, data.weights));
  };
  Expected expected;
  expected.output = forward(reference);
  expected.inference = c.inference ? forward(c.inference) : expected.output;
  if (c.statistics) expected.statistics = c.statistics(data.inputs);
  return expected;
}

/// Gradients by central differences of the reference.
Expected expectation(const Case& c, const Reference& reference, Data& data, const std::vector<nn::WeightDef>& defs) {
  Expected expected = values_of(c, reference, data);
  if (!c.differentiable) return expected;
  Case training = c;
  training.inference = nullptr;
  training.statistics = nullptr;
  const auto value = [&] { return values_of(training, reference, data).output; };
  for (Tensor& x : data.inputs) expected.input_gradients.push_back(differences(value, data.output_gradient, x.values));
  for (std::size_t i = 0; i < data.weights.size(); ++i)
    expected.weight_gradients.push_back(
        defs[i].trainable ? differences(value, data.output_gradient, data.weights[i].values) : std::vector<double>{});
  return expected;
}

/// Gradients of the CPU in float, which central differences have verified; differences fail at ties, which rounding
/// creates.
Expected expectation_of_cpu(const Case& c, const Reference& reference, const Data& data,
                            const std::vector<nn::WeightDef>& defs) {
  Expected expected = values_of(c, reference, data);
  if (!c.differentiable) return expected;
  const auto cpu = backend::make_cpu_device(0, 1, c.options);
  const Outcome outcome = run(*cpu, c, data, true, Wanted::kAll);
  for (const auto& gradient : outcome.input_gradients)
    expected.input_gradients.emplace_back(gradient.begin(), gradient.end());
  for (std::size_t i = 0; i < defs.size(); ++i) {
    const auto& gradient = outcome.weight_gradients[i];
    expected.weight_gradients.emplace_back(gradient.begin(), defs[i].trainable ? gradient.end() : gradient.begin());
  }
  return expected;
}

/// Tolerances: relative to the largest value in float32, to the norm in 16 bits.
struct Tolerances {
  DType type;
  double values, gradients, roundings;

  void expect(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
              const std::string& what) const {
    if (type == DType::kF32) return expect_close(found, expected, tolerance, what);
    expect_near_in_norm(found, expected, roundings * norm_tolerance(type), what);
  }
  /// A sum that cancels, compared with the largest of the others.
  void expect_nothing(const std::vector<float>& found, const std::vector<std::vector<double>>& others,
                      const std::string& what) const {
    const auto norm = [](const auto& all) {
      double squares = 0;
      for (const auto value : all) squares += std::pow(static_cast<double>(value), 2);
      return std::sqrt(squares);
    };
    double largest = 0;
    for (const auto& other : others) largest = std::max(largest, norm(other));
    const double tolerance = type == DType::kF32 ? gradients : roundings * norm_tolerance(type);
    EXPECT_LE(norm(found), tolerance * largest) << what;
  }
};

void compare(const Case& c, const Expected& expected, const Outcome& found, const Tolerances& near,
             const std::vector<nn::WeightDef>& defs) {
  near.expect(found.output, expected.output.values, near.values, "output");
  for (std::size_t i = 0; i < expected.input_gradients.size(); ++i)
    near.expect(found.input_gradients[i], expected.input_gradients[i], near.gradients,
                "gradient of input " + std::to_string(i));
  std::size_t statistic = 0;
  for (std::size_t i = 0; i < defs.size(); ++i) {
    if (defs[i].trainable) {
      if (c.differentiable && std::ranges::find(c.cancelled, i) != c.cancelled.end())
        near.expect_nothing(found.weight_gradients[i], expected.weight_gradients, "gradient of " + defs[i].name);
      else if (c.differentiable)
        near.expect(found.weight_gradients[i], expected.weight_gradients[i], near.gradients,
                    "gradient of " + defs[i].name);
    } else if (c.statistics) {
      std::vector<double> values = expected.statistics[statistic++].values;
      for (double& value : values) value *= kShare;
      near.expect(found.weight_gradients[i], values, near.values, "share of " + defs[i].name);
    }
  }
}

/// Runs all checks on one device; returns its results.
Outcome run_and_compare(backend::Device& device, const Case& c, const Data& data, const Expected& expected,
                        const std::vector<nn::WeightDef>& defs) {
  const Tolerances near{.type = device.options().compute,
                        .values = on_device(device, c.tolerance),
                        .gradients = on_device(device, c.gradient_tolerance),
                        .roundings = c.roundings};
  const Outcome found = run(device, c, data, true, Wanted::kAll);
  compare(c, expected, found, near, defs);
  if (kThreadSanitizer) return found;  // it reports races in every order
  expect_same_bits(found, run(device, c, data, true, Wanted::kAll), "second run");
  expect_same_bits(found, run(device, c, data, true, Wanted::kInputs), "without weight gradients");
  if (!defs.empty()) expect_same_bits(found, run(device, c, data, true, Wanted::kWeights), "without input gradients");
  if (c.inputs.size() > 1)
    expect_same_bits(found, run(device, c, data, true, Wanted::kFirstInput), "with the first input's gradient alone");
  const Outcome inference = run(device, c, data, false, Wanted::kAll);
  near.expect(inference.output, expected.inference.values, near.values, "output in inference");
  return found;
}

/// With any_threads, results are independent of the number of threads.
void expect_any_threads(const Case& c, const Data& data) {
  backend::RuntimeOptions options = c.options;
  options.any_threads = true;
  std::vector<Outcome> found;
  for (const int threads : {1, 2, 5}) {
    const auto device = backend::make_cpu_device(0, threads, options);
    found.push_back(run(*device, c, data, true, Wanted::kAll));
    expect_same_bits(found.front(), found.back(), "another number of threads, of any_threads");
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

double activation(nn::Activation f, double x) {
  return activation_value(f, static_cast<double>(kernels::traits_of(f).alpha), x);
}

void agrees(const Case& c, const Reference& reference) {
  const std::vector<nn::WeightDef> defs = weights_of(c);
  for (const DType type : c.types) {
    if (kThreadSanitizer && type != c.types.front()) continue;  // all types have the same barriers
    backend::RuntimeOptions options = c.options;
    options.compute = type;
    const Devices all = devices(options);
    if (all.empty()) continue;
    Data data = rounded(type, make_data(c));
    // Differences take most of the time.
    const bool by_differences = type == DType::kF32 && !kAddressSanitizer && !kThreadSanitizer;
    const Expected expected =
        by_differences ? expectation(c, reference, data, defs) : expectation_of_cpu(c, reference, data, defs);
    std::vector<Outcome> of_cpu;
    std::size_t checked = 0;
    for (const auto& device : all) {
      const bool fused = OneStep(c, Wanted::kAll, *device).fused;
      EXPECT_TRUE(fused || c.some_devices) << device->name() << " does not fuse " << c.layer.name() << " with its tail";
      if (!fused) continue;
      ++checked;
      SCOPED_TRACE(device->description() + ": " + c.layer.name() + " of " + c.inputs[0].str() + " in " +
                   std::string(name_of(type)));
      const Outcome found = run_and_compare(*device, c, data, expected, defs);
      if (device->kind() == backend::DeviceKind::kCpu) of_cpu.push_back(found);
    }
    EXPECT_TRUE(checked > 0 || all.front()->kind() != backend::DeviceKind::kCpu)
        << "no device fuses " << c.layer.name() << " with its tail";
    if (c.same_bits_on_all_threads && of_cpu.size() == 2)
      expect_same_bits(of_cpu[0], of_cpu[1], "another number of threads");
    else if (of_cpu.size() == 2)
      expect_any_threads(c, data);
  }
}

std::vector<float> infer(backend::Device& device, const Case& c, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& weights) {
  return run(device, c, {.inputs = inputs, .weights = weights, .output_gradient = {}}, false, Wanted::kAll).output;
}

std::vector<std::vector<float>> train(backend::Device& device, const Case& c) {
  Outcome outcome = run(device, c, make_data(c), true, Wanted::kAll);
  std::vector<std::vector<float>> all{std::move(outcome.output)};
  for (auto* group : {&outcome.input_gradients, &outcome.weight_gradients})
    for (auto& values : *group) all.push_back(std::move(values));
  return all;
}

std::string implementation(backend::Device& device, const Case& c) {
  device.enter();
  const OneStep one(c, Wanted::kAll, device);
  return device.make_op(one.context(c.rows))->implementation();
}

void expect_close(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
    // Written so that NaN fails. Reports only the first wrong element.
    if (!(difference <= tolerance * std::max(largest, 1e-3))) {
      ADD_FAILURE() << what << "[" << i << "]: found " << found[i] << ", expected " << expected[i] << " +- "
                    << tolerance * largest;
      return;
    }
  }
}

void expect_near_in_norm(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference += std::pow(static_cast<double>(found[i]) - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  // Written so that NaN fails.
  EXPECT_TRUE(std::sqrt(difference) <= tolerance * std::sqrt(size))
      << what << ": ||found - expected|| = " << std::sqrt(difference) << ", ||expected|| = " << std::sqrt(size);
}

}  // namespace dptrain::test
