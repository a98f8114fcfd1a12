#pragma once

// Common to the tests of losses: equations for one row in double precision, labels, and check_loss(), which compares
// every device in every number type with them, and the gradient with central differences.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "backend/harness.h"
#include "backend/loss_harness.h"
#include "core/random.h"
#include "nn/loss.h"
#include "nn/metric.h"

namespace dptrain::test {

using Fusion = plan::LossStep::Fusion;
using Row = std::span<const double>;
using RowLoss = std::function<double(Row prediction, Row target)>;

inline constexpr std::int64_t kLossRows = 37, kLossWidth = 5;
inline constexpr double kLossScale = 1.0 / 37;

inline std::vector<double> softmax(Row z) {
  std::vector<double> p(z.begin(), z.end());
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x);
  for (double& x : p) x /= sum;
  return p;
}

inline double cross_entropy(Row p, Row y, double smoothing) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  double loss = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    loss -= (y[i] * (1 - smoothing) + smoothing / static_cast<double>(p.size())) * std::log(p[i] / sum);
  return loss;
}

inline double binary(Row p, Row y, double smoothing) {
  double loss = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double target = y[i] * (1 - smoothing) + smoothing / 2;
    loss -= (target * std::log(p[i]) + (1 - target) * std::log1p(-p[i])) / static_cast<double>(p.size());
  }
  return loss;
}

inline std::vector<double> sigmoid(Row z) {
  std::vector<double> p(z.begin(), z.end());
  for (double& x : p) x = 1 / (1 + std::exp(-x));
  return p;
}

/// Terms of metrics() for a row, from probabilities.
inline double squared(Row p, Row y) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += (p[i] - y[i]) * (p[i] - y[i]);
  return sum / static_cast<double>(p.size());
}
inline double absolute(Row p, Row y) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::abs(p[i] - y[i]);
  return sum / static_cast<double>(p.size());
}
inline double hit(Row p, Row y) {
  return std::ranges::max_element(p) - p.begin() == std::ranges::max_element(y) - y.begin();
}
inline double top2(Row p, Row y) {
  const double mine = p[static_cast<std::size_t>(std::ranges::max_element(y) - y.begin())];
  return std::ranges::count_if(p, [&](double x) { return x > mine; }) < 2;
}
inline double same_side(Row p, Row y) {
  double hits = 0;
  for (std::size_t i = 0; i < p.size(); ++i) hits += (p[i] > 0.4) == (y[i] == 1);
  return hits / static_cast<double>(p.size());
}

template <class Spec>
config::Typed metric(Spec spec) {
  return nn::metric_family().make(std::move(spec));
}
template <class Spec>
config::Typed loss(Spec spec) {
  return nn::loss_family().make(std::move(spec));
}

inline std::vector<double> random_values(std::size_t n, double low, double high, std::uint32_t stream) {
  RandomStream random(5, stream);
  std::vector<double> values(n);
  for (double& x : values)
    x = static_cast<double>(static_cast<float>(low + (high - low) * static_cast<double>(random.uniform())));
  return values;
}

/// Labels 0..kLossWidth-1, as numbers and as rows.
inline std::vector<std::int32_t> random_classes() {
  RandomStream random(6, 1);
  std::vector<std::int32_t> classes(kLossRows);
  for (auto& c : classes) c = static_cast<std::int32_t>(random.below(kLossWidth));
  return classes;
}
inline std::vector<double> one_hot(const std::vector<std::int32_t>& classes) {
  std::vector<double> rows(classes.size() * kLossWidth, 0.0);
  for (std::size_t i = 0; i < classes.size(); ++i) rows[i * kLossWidth + static_cast<std::size_t>(classes[i])] = 1;
  return rows;
}

/// Reference values for devices.
struct ExpectedLoss {
  double sum = 0;
  std::vector<double> counts, gradient;
};

inline ExpectedLoss expected_loss(const LossCase& c, const std::vector<double>& prediction,
                                  const std::vector<double>& targets, const RowLoss& f,
                                  const std::vector<RowLoss>& metrics) {
  const auto width = static_cast<std::size_t>(c.output.elements());
  std::vector<double> z = prediction;
  ExpectedLoss expected{.counts = std::vector<double>(metrics.size()), .gradient = std::vector<double>(z.size())};
  for (std::size_t at = 0; at < z.size(); at += width) {
    const Row p(z.data() + at, width), y(targets.data() + at, width);
    expected.sum += f(p, y);
    for (std::size_t m = 0; m < metrics.size(); ++m) expected.counts[m] += metrics[m](p, y);
    for (std::size_t i = at; i < at + width; ++i) {
      constexpr double kLossShift = 1e-6;
      const double value = z[i];
      z[i] = value + kLossShift;
      const double above = f(p, y);
      z[i] = value - kLossShift;
      expected.gradient[i] = kLossScale * (above - f(p, y)) / (2 * kLossShift);
      z[i] = value;
    }
  }
  return expected;
}

/// Loss, metrics and gradient on one device; returns its results.
inline LossResult compare_loss(backend::Device& device, const LossCase& c, const std::vector<double>& prediction,
                               const ExpectedLoss& expected) {
  const DType type = device.options().compute;
  const LossResult found = run_loss(device, c, prediction, kLossScale);
  const double tolerance = on_device(device, 2e-6);  // float per row, double sum
  EXPECT_NEAR(found.sums[0] - kStartSum, expected.sum, tolerance * std::abs(expected.sum));
  for (std::size_t m = 0; m < expected.counts.size(); ++m)
    EXPECT_NEAR(found.sums[1 + m] - kStartSum, expected.counts[m], tolerance * expected.counts[m] + 1e-12)
        << c.metrics[m].name();
  if (type == DType::kF32)
    expect_close(found.gradient, expected.gradient, 1e-5, "gradient");
  else
    expect_near_in_norm(found.gradient, expected.gradient, norm_tolerance(type), "gradient");
  const LossResult in_place = run_loss(device, c, prediction, kLossScale, true);
  EXPECT_EQ(in_place.gradient, found.gradient);
  EXPECT_EQ(in_place.sums, found.sums);
  if (type == DType::kF32 && device.kind() == backend::DeviceKind::kCpu) return found;
  std::vector<double> scaled(found.gradient.begin(), found.gradient.end());
  for (double& value : scaled) value *= 64;  // only the exponent changes, except for subnormals of float16
  expect_close(run_loss(device, c, prediction, kLossScale, false, 64).gradient, scaled, 1e-3,
               "gradient times loss scale");
  return found;
}

/// Compares loss and metrics with the references, the gradient with central differences, on every device and in every
/// type.
inline void check_loss(const LossCase& c, const std::vector<double>& prediction, const std::vector<double>& targets,
                       const RowLoss& f, const std::vector<RowLoss>& metrics = {}) {
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
    const std::vector<double> z = rounded(type, prediction);
    const ExpectedLoss expected = expected_loss(c, z, targets, f, metrics);
    LossResult first;
    for (const auto& device : devices({.compute = type})) {
      SCOPED_TRACE(device->description() + ": " + c.loss.name() + " in " + std::string(name_of(type)));
      const LossResult found = compare_loss(*device, c, z, expected);
      if (device->kind() != backend::DeviceKind::kCpu) continue;
      if (!first.gradient.empty()) {
        EXPECT_EQ(first.gradient, found.gradient) << "another number of threads";
        EXPECT_EQ(first.sums, found.sums) << "another number of threads";
      }
      first = found;
    }
  }
}

inline RowLoss of_softmax(const RowLoss& f) {
  return [f](Row z, Row y) { return f(softmax(z), y); };
}
inline RowLoss of_sigmoid(const RowLoss& f) {
  return [f](Row z, Row y) { return f(sigmoid(z), y); };
}
/// The mean over the row of f(value, target).
inline RowLoss mean_of(const std::function<double(double, double)>& f) {
  return [f](Row p, Row y) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) sum += f(p[i], y[i]);
    return sum / static_cast<double>(p.size());
  };
}
/// The mean over a sample's rows of `width` values.
inline RowLoss mean_over_rows(const RowLoss& f, std::size_t width) {
  return [f, width](Row p, Row y) {
    double sum = 0;
    for (std::size_t at = 0; at < p.size(); at += width) sum += f(p.subspan(at, width), y.subspan(at, width));
    return sum * static_cast<double>(width) / static_cast<double>(p.size());
  };
}

}  // namespace dptrain::test
