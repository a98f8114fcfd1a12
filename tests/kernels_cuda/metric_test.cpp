#include "kernels/cuda/metric_bins.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/metric_bins.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

struct MetricShape {
  std::int64_t rows, width;
};
// A thread, a warp and a block per row, and widths around their limits.
constexpr std::array kMetricShapes{MetricShape{300, 1}, MetricShape{37, 5}, MetricShape{9, 40},  MetricShape{3, 270},
                                   MetricShape{4, 8},   MetricShape{4, 9},  MetricShape{3, 256}, MetricShape{3, 257}};

/// Scores in [0, 1] with ties, zeros and a NaN.
std::vector<float> coarse_scores(std::int64_t n) {
  std::vector<float> scores = random_floats(n, 11, 0.0F, 1.0F);
  for (float& score : scores) score = std::floor(score * 8) / 8;
  scores.back() = NAN;
  return scores;
}

std::vector<std::int32_t> metric_labels(const MetricShape& shape) {
  std::vector<std::int32_t> labels;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    labels.push_back(static_cast<std::int32_t>(row * 7 % std::max<std::int64_t>(2, shape.width)));
  return labels;
}

TEST(MetricBins, EqualTheCpu) {
  const std::vector<float> thresholds{0.2F, 0.5F, 0.75F};
  Array<float> threshold_memory(thresholds);
  for (const MetricShape& shape : kMetricShapes) {
    const std::int64_t n = shape.rows * shape.width, k = std::min<std::int64_t>(3, shape.width);
    const std::vector<float> scores = coarse_scores(n);
    const std::vector<std::int32_t> labels = metric_labels(shape);
    Array<std::int32_t> label_memory(labels);
    on_every_type([&](DType type, int offset) {
      Tensor s(type, scores, offset);
      Array<std::int32_t> bins(n);
      const auto check_bins = [&](ThresholdBins what, const char* name) {
        std::vector<std::int32_t> expected(static_cast<std::size_t>(n));
        what.thresholds = thresholds.data();
        cpu::threshold_bins({}, DType::kF32, scores.data(), shape.rows, shape.width, {.labels = labels.data()}, what,
                            expected.data());
        what.thresholds = threshold_memory.data();
        threshold_bins(test_launch(), type, s.data(), shape.rows, shape.width, {.labels = label_memory.data()}, what,
                       bins.data());
        EXPECT_EQ(bins.read(), expected) << name << " of width " << shape.width;
      };
      check_bins({.count = 3}, "thresholds");
      check_bins({.count = 3, .by_class = true, .top_k = k}, "top k by class");
      check_bins({.count = 3, .sigmoid = true, .class_id = shape.width - 1}, "one class of logits");
      check_bins({.count = 9, .even = true}, "even thresholds");
      check_bins({.largest = true, .by_class = true}, "the largest");
    });
  }
}

TEST(MetricBins, OfLabelsAndPredictionsEqualTheCpu) {
  for (const MetricShape& shape : kMetricShapes) {
    std::vector<float> scores = coarse_scores(shape.rows * shape.width);
    scores.back() = 0.5F;
    const std::vector<std::int32_t> labels = metric_labels(shape);
    Array<std::int32_t> label_memory(labels), bins(shape.rows);
    Tensor s(DType::kF32, scores, 0);
    std::vector<std::int32_t> expected(static_cast<std::size_t>(shape.rows));
    const std::int64_t size = shape.width > 5 ? shape.width - 1 : shape.width + 1;
    cpu::confusion_bins({}, DType::kF32, scores.data(), shape.rows, shape.width, {.labels = labels.data()}, size, 1,
                        expected.data());
    confusion_bins(test_launch(), DType::kF32, s.data(), shape.rows, shape.width, {.labels = label_memory.data()}, size,
                   1, bins.data());
    EXPECT_EQ(bins.read(), expected) << shape.width;
  }
}

TEST(MetricBins, AreCountedExactlyAndAdded) {
  for (const std::int64_t count : {4, 402, 4096, 4097, 5000}) {  // at most 4096 in a block's memory
    std::vector<std::int32_t> bins;
    for (std::int64_t i = 0; i < 9000; ++i) bins.push_back(static_cast<std::int32_t>(i * i % (count + 1)) - 1);
    std::vector<double> expected(static_cast<std::size_t>(count), 2.5);
    cpu::add_counts({}, bins.data(), static_cast<std::int64_t>(bins.size()), count, nullptr, expected.data());
    Array<std::int32_t> bin_memory(bins);
    Array<unsigned> workspace(add_counts_workspace(count));
    Array<double> counts(std::vector<double>(static_cast<std::size_t>(count), 2.5));
    add_counts(test_launch(), bin_memory.data(), static_cast<std::int64_t>(bins.size()), count, workspace.data(),
               counts.data());
    EXPECT_EQ(counts.read(), expected) << count;
  }
}

TEST(MetricSums, OfARegressionEqualTheCpu) {
  constexpr std::int64_t kRows = 700, kWidth = 3;
  const std::vector<float> y = random_floats(kRows * kWidth, 3, -2.0F, 2.0F);
  const std::vector<float> p = random_floats(kRows * kWidth, 4, -2.0F, 2.0F);
  std::vector<double> expected(3 * kWidth, 1.0);
  cpu::add_regression_sums({}, DType::kF32, p.data(), kRows, kWidth, {.dense = y.data()}, expected.data());
  Array<float> y_memory(y);
  Tensor p_memory(DType::kF32, p, 0);
  Array<double> sums(std::vector<double>(3 * kWidth, 1.0));
  add_regression_sums(test_launch(), DType::kF32, p_memory.data(), kRows, kWidth, {.dense = y_memory.data()},
                      sums.data());
  const std::vector<double> found = sums.read();
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-9 * std::abs(expected[i]) + 1e-9);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
