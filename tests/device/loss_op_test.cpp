#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "device/harness.h"
#include "device/loss_harness.h"
#include "optim/metrics/accuracy.h"
#include "optim/metrics/binary_accuracy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/metrics/mean_absolute_error.h"
#include "optim/metrics/mean_squared_error.h"
#include "optim/metrics/sparse_top_k_categorical_accuracy.h"
#include "optim/metrics/top_k_categorical_accuracy.h"

namespace dptrain::test {
namespace {

using Fusion = plan::LossStep::Fusion;
using Row = std::span<const double>;
using RowLoss = std::function<double(Row prediction, Row target)>;

constexpr std::int64_t kRows = 37, kWidth = 5;
constexpr double kScale = 1.0 / 37;

std::vector<double> softmax(Row z) {
  std::vector<double> p(z.begin(), z.end());
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x);
  for (double& x : p) x /= sum;
  return p;
}

double cross_entropy(Row p, Row y, double smoothing) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  double loss = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    loss -= (y[i] * (1 - smoothing) + smoothing / static_cast<double>(p.size())) * std::log(p[i] / sum);
  return loss;
}

double binary(Row p, Row y, double smoothing) {
  double loss = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double target = y[i] * (1 - smoothing) + smoothing / 2;
    loss -= (target * std::log(p[i]) + (1 - target) * std::log1p(-p[i])) / static_cast<double>(p.size());
  }
  return loss;
}

std::vector<double> sigmoid(Row z) {
  std::vector<double> p(z.begin(), z.end());
  for (double& x : p) x = 1 / (1 + std::exp(-x));
  return p;
}

/// What the metrics of metrics() count for a row, from probabilities.
double squared(Row p, Row y) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += (p[i] - y[i]) * (p[i] - y[i]);
  return sum / static_cast<double>(p.size());
}
double absolute(Row p, Row y) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::abs(p[i] - y[i]);
  return sum / static_cast<double>(p.size());
}
double hit(Row p, Row y) { return std::ranges::max_element(p) - p.begin() == std::ranges::max_element(y) - y.begin(); }
double top2(Row p, Row y) {
  const double mine = p[static_cast<std::size_t>(std::ranges::max_element(y) - y.begin())];
  return std::ranges::count_if(p, [&](double x) { return x > mine; }) < 2;
}
double same_side(Row p, Row y) {
  double hits = 0;
  for (std::size_t i = 0; i < p.size(); ++i) hits += (p[i] > 0.4) == (y[i] == 1);
  return hits / static_cast<double>(p.size());
}

template <class Spec>
config::Typed metric(Spec spec) {
  return optim::metric_family().make(std::move(spec));
}
template <class Spec>
config::Typed loss(Spec spec) {
  return optim::loss_family().make(std::move(spec));
}

std::vector<double> random_values(std::size_t n, double low, double high, std::uint32_t stream) {
  RandomStream random(5, stream);
  std::vector<double> values(n);
  for (double& x : values)
    x = static_cast<double>(static_cast<float>(low + (high - low) * static_cast<double>(random.uniform())));
  return values;
}

/// Labels 0..kWidth-1, as numbers and as rows.
std::vector<std::int32_t> random_classes() {
  RandomStream random(6, 1);
  std::vector<std::int32_t> classes(kRows);
  for (auto& c : classes) c = static_cast<std::int32_t>(random.below(kWidth));
  return classes;
}
std::vector<double> one_hot(const std::vector<std::int32_t>& classes) {
  std::vector<double> rows(classes.size() * kWidth, 0.0);
  for (std::size_t i = 0; i < classes.size(); ++i) rows[i * kWidth + static_cast<std::size_t>(classes[i])] = 1;
  return rows;
}

/// What devices must come near to.
struct ExpectedLoss {
  double sum = 0;
  std::vector<double> counts, gradient;
};

ExpectedLoss expectation(const LossCase& c, const std::vector<double>& prediction, const std::vector<double>& targets,
                         const RowLoss& f, const std::vector<RowLoss>& metrics) {
  const auto width = static_cast<std::size_t>(c.output.elements());
  std::vector<double> z = prediction;
  ExpectedLoss expected{.counts = std::vector<double>(metrics.size()), .gradient = std::vector<double>(z.size())};
  for (std::size_t at = 0; at < z.size(); at += width) {
    const Row p(z.data() + at, width), y(targets.data() + at, width);
    expected.sum += f(p, y);
    for (std::size_t m = 0; m < metrics.size(); ++m) expected.counts[m] += metrics[m](p, y);
    for (std::size_t i = at; i < at + width; ++i) {
      constexpr double kStep = 1e-6;
      const double value = z[i];
      z[i] = value + kStep;
      const double above = f(p, y);
      z[i] = value - kStep;
      expected.gradient[i] = kScale * (above - f(p, y)) / (2 * kStep);
      z[i] = value;
    }
  }
  return expected;
}

/// Loss, metrics and gradient on one device; returns what it found.
LossResult judge(device::Device& device, const LossCase& c, const std::vector<double>& prediction,
                 const ExpectedLoss& expected) {
  const DType type = device.options().compute;
  const LossResult found = run_loss(device, c, prediction, kScale);
  const double tolerance = on_device(device, 2e-6);  // float per row, double sum
  EXPECT_NEAR(found.sums[0] - kStartSum, expected.sum, tolerance * expected.sum);
  for (std::size_t m = 0; m < expected.counts.size(); ++m)
    EXPECT_NEAR(found.sums[1 + m] - kStartSum, expected.counts[m], tolerance * expected.counts[m] + 1e-12)
        << c.metrics[m].name();
  if (type == DType::kF32)
    expect_close(found.gradient, expected.gradient, 1e-5, "gradient");
  else
    expect_near_in_norm(found.gradient, expected.gradient, norm_tolerance(type), "gradient");
  const LossResult in_place = run_loss(device, c, prediction, kScale, true);
  EXPECT_EQ(in_place.gradient, found.gradient);
  EXPECT_EQ(in_place.sums, found.sums);
  if (type == DType::kF32 && device.kind() == device::DeviceKind::kCpu) return found;
  std::vector<double> scaled(found.gradient.begin(), found.gradient.end());
  for (double& value : scaled) value *= 64;  // but for subnormals of float16, only the exponent changes
  expect_close(run_loss(device, c, prediction, kScale, false, 64).gradient, scaled, 1e-3, "gradient times loss scale");
  return found;
}

/// Loss and metrics against the references, gradient against central differences, on every device and in every type.
void check_loss(const LossCase& c, const std::vector<double>& prediction, const std::vector<double>& targets,
                const RowLoss& f, const std::vector<RowLoss>& metrics = {}) {
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
    const std::vector<double> z = rounded(type, prediction);
    const ExpectedLoss expected = expectation(c, z, targets, f, metrics);
    LossResult first;
    for (const auto& device : devices({.compute = type})) {
      SCOPED_TRACE(device->description() + ": " + c.loss.name() + " in " + std::string(name_of(type)));
      const LossResult found = judge(*device, c, z, expected);
      if (device->kind() != device::DeviceKind::kCpu) continue;
      if (!first.gradient.empty()) {
        EXPECT_EQ(first.gradient, found.gradient) << "another number of threads";
        EXPECT_EQ(first.sums, found.sums) << "another number of threads";
      }
      first = found;
    }
  }
}

RowLoss of_softmax(const RowLoss& f) {
  return [f](Row z, Row y) { return f(softmax(z), y); };
}
RowLoss of_sigmoid(const RowLoss& f) {
  return [f](Row z, Row y) { return f(sigmoid(z), y); };
}

TEST(LossOp, CategoricalFusedWithSoftmaxAndAllMetrics) {
  LossCase c{.loss = loss(optim::SparseCategoricalCrossentropySpec{}), .output = {kWidth}, .from_logits = true};
  c.fusion = Fusion::kSoftmax;
  c.classes = random_classes();
  c.metrics = {metric(optim::AccuracySpec{}), metric(optim::SparseTopKCategoricalAccuracySpec{.k = 2}),
               metric(optim::MeanSquaredErrorMetricSpec{}), metric(optim::MeanAbsoluteErrorMetricSpec{})};
  check_loss(c, random_values(kRows * kWidth, -4, 4, 1), one_hot(c.classes),
             of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); }),
             {hit, top2, of_softmax(squared), of_softmax(absolute)});
}

constexpr std::array kClassWeights{2.5F, 0.0F, 1.0F, 0.25F, 3.0F};

/// A row's loss times the weight of its class: the largest target, or the only one.
RowLoss by_class(const RowLoss& f, const std::vector<float>& weights) {
  return [f, weights](Row z, Row y) {
    const auto label = y.size() == 1 ? std::lrint(y[0]) : std::ranges::max_element(y) - y.begin();
    return static_cast<double>(weights[static_cast<std::size_t>(label)]) * f(z, y);
  };
}

TEST(LossOp, ClassWeightsMultiplyLossAndGradientAndNoMetric) {
  LossCase c{.loss = loss(optim::SparseCategoricalCrossentropySpec{}), .output = {kWidth}, .from_logits = true};
  c.fusion = Fusion::kSoftmax;
  c.classes = random_classes();
  c.class_weights.assign(kClassWeights.begin(), kClassWeights.end());
  c.metrics = {metric(optim::AccuracySpec{}), metric(optim::MeanSquaredErrorMetricSpec{})};
  const RowLoss f = of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); });
  const std::vector<double> z = random_values(kRows * kWidth, -4, 4, 21);
  check_loss(c, z, one_hot(c.classes), by_class(f, c.class_weights), {hit, of_softmax(squared)});

  c.weighted = false;  // validation
  check_loss(c, z, one_hot(c.classes), f, {hit, of_softmax(squared)});
}

TEST(LossOp, ClassWeightsOfRowsAreThoseOfTheirLargestTarget) {
  LossCase c{.loss = loss(optim::CategoricalCrossentropySpec{.label_smoothing = 0.2}), .output = {kWidth}};
  c.class_weights.assign(kClassWeights.begin(), kClassWeights.end());
  c.rows = one_hot(random_classes());
  const RowLoss f = [](Row p, Row y) { return cross_entropy(p, y, 0.2); };
  check_loss(c, random_values(kRows * kWidth, 0.05, 0.95, 22), c.rows, by_class(f, c.class_weights));
}

TEST(LossOp, ClassWeightsOfOneOutputAreThoseOfZeroAndOne) {
  LossCase c{.loss = loss(optim::BinaryCrossentropySpec{}), .output = {1}, .from_logits = true};
  c.fusion = Fusion::kSigmoid;
  c.class_weights = {0.25F, 3.0F};
  for (const std::int32_t label : random_classes()) c.rows.push_back(label % 2);
  c.metrics = {metric(optim::MeanAbsoluteErrorMetricSpec{})};
  const RowLoss f = of_sigmoid([](Row p, Row y) { return binary(p, y, 0); });
  check_loss(c, random_values(kRows, -3, 3, 23), c.rows, by_class(f, c.class_weights), {of_sigmoid(absolute)});
}

/// Factors of all rows, one after the other in the order in which f is asked for them.
std::vector<double> weights_of(std::int64_t rows) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < rows; ++i) weights.push_back(0.25 * static_cast<double>(i % 5));
  return weights;
}

TEST(LossOp, SampleWeightsMultiplyLossAndGradientAndNoMetric) {
  LossCase c{.loss = loss(optim::MeanSquaredErrorSpec{}), .output = {kWidth}};
  c.rows = random_values(kRows * kWidth, -1, 1, 31);
  c.metrics = {metric(optim::MeanAbsoluteErrorMetricSpec{})};
  const std::vector<double> z = random_values(kRows * kWidth, -1, 1, 32), weights = weights_of(kRows);
  LossCase weighted = c;
  weighted.sample_weights = weights;
  weighted.weighted = false;  // they count in evaluation, too
  for (const auto& device : devices({})) {
    SCOPED_TRACE(device->description());
    const LossResult plain = run_loss(*device, c, z, kScale), found = run_loss(*device, weighted, z, kScale);
    double sum = 0;
    for (std::size_t row = 0; row < weights.size(); ++row) {
      const Row p(z.data() + row * kWidth, kWidth), y(c.rows.data() + row * kWidth, kWidth);
      sum += weights[row] * squared(p, y);
      for (std::size_t i = row * kWidth; i < (row + 1) * kWidth; ++i)
        EXPECT_FLOAT_EQ(found.gradient[i], plain.gradient[i] * static_cast<float>(weights[row])) << i;
    }
    EXPECT_NEAR(found.sums[0] - kStartSum, sum, 1e-5 * sum);
    EXPECT_EQ(found.sums[1], plain.sums[1]);
  }
}

TEST(LossOp, CategoricalFromLogitsWithRowsAndSmoothing) {
  LossCase c{.loss = loss(optim::CategoricalCrossentropySpec{.from_logits = true, .label_smoothing = 0.1}),
             .output = {kWidth},
             .from_logits = true};
  c.rows = one_hot(random_classes());
  c.metrics = {metric(optim::CategoricalAccuracySpec{}), metric(optim::TopKCategoricalAccuracySpec{.k = 2})};
  check_loss(c, random_values(kRows * kWidth, -4, 4, 2), c.rows,
             of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0.1); }), {hit, top2});
}

TEST(LossOp, CategoricalFromProbabilities) {
  LossCase c{.loss = loss(optim::CategoricalCrossentropySpec{.label_smoothing = 0.2}), .output = {kWidth}};
  c.classes = random_classes();
  c.metrics = {metric(optim::AccuracySpec{})};
  check_loss(c, random_values(kRows * kWidth, 0.05, 1, 3), one_hot(c.classes),
             [](Row p, Row y) { return cross_entropy(p, y, 0.2); }, {hit});
}

TEST(LossOp, CategoricalOverPositions) {
  constexpr std::int64_t kPositions = 3;
  LossCase c{.loss = loss(optim::CategoricalCrossentropySpec{.from_logits = true}),
             .output = {kPositions, kWidth},
             .from_logits = true};
  c.rows = one_hot(random_classes());
  c.rows.resize(36 * kWidth);  // 12 samples of 3 positions
  c.metrics = {metric(optim::CategoricalAccuracySpec{})};
  const auto mean = [](const RowLoss& f) {
    return [f](Row z, Row y) {
      double sum = 0;
      for (std::size_t at = 0; at < z.size(); at += kWidth) sum += f(z.subspan(at, kWidth), y.subspan(at, kWidth));
      return sum / kPositions;
    };
  };
  check_loss(c, random_values(36 * kWidth, -4, 4, 4), c.rows,
             mean(of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); })), {mean(hit)});
}

TEST(LossOp, BinaryFusedWithSigmoid) {
  LossCase c{.loss = loss(optim::BinaryCrossentropySpec{.label_smoothing = 0.1}), .output = {1}, .from_logits = true};
  c.fusion = Fusion::kSigmoid;
  c.classes = random_classes();
  for (auto& label : c.classes) label = label % 2;
  c.metrics = {metric(optim::BinaryAccuracySpec{.threshold = 0.4}), metric(optim::MeanSquaredErrorMetricSpec{})};
  check_loss(c, random_values(kRows, -3, 3, 5), {c.classes.begin(), c.classes.end()},
             of_sigmoid([](Row p, Row y) { return binary(p, y, 0.1); }), {of_sigmoid(same_side), of_sigmoid(squared)});
}

TEST(LossOp, BinaryFromProbabilities) {
  LossCase c{.loss = loss(optim::BinaryCrossentropySpec{}), .output = {kWidth}};
  c.rows = one_hot(random_classes());
  c.metrics = {metric(optim::BinaryAccuracySpec{.threshold = 0.4})};
  check_loss(c, random_values(kRows * kWidth, 0.05, 0.95, 6), c.rows, [](Row p, Row y) { return binary(p, y, 0); },
             {same_side});
}

TEST(LossOp, SquaredAndAbsolute) {
  LossCase c{.loss = loss(optim::MeanSquaredErrorSpec{}), .output = {kWidth}};
  c.rows = random_values(kRows * kWidth, -1, 1, 7);
  const auto prediction = random_values(kRows * kWidth, -1, 1, 8);
  check_loss(c, prediction, c.rows, squared);
  c.loss = loss(optim::MeanAbsoluteErrorSpec{});
  check_loss(c, prediction, c.rows, absolute);
}

TEST(LossOp, ClassesCanBeRowsOfASquaredLoss) {
  LossCase c{.loss = loss(optim::MeanSquaredErrorSpec{}), .output = {kWidth}};
  c.classes = random_classes();
  c.metrics = {metric(optim::CategoricalAccuracySpec{})};
  check_loss(c, random_values(kRows * kWidth, -1, 1, 9), one_hot(c.classes), squared, {hit});
}

TEST(LossOp, RefusesOneClassForManyPositions) {
  LossCase c{.loss = loss(optim::SparseCategoricalCrossentropySpec{}), .output = {3, kWidth}};
  c.classes = {0};
  for (const auto& device : devices())
    EXPECT_THROW(run_loss(*device, c, std::vector<double>(3 * kWidth), 1), Error) << device->name();
}

}  // namespace
}  // namespace dptrain::test
