#include "kernels/cpu/loss.h"

#include <gtest/gtest.h>

#include "kernels/losses.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

constexpr int64_t kRows = 3, kWidth = 5;

using RowLoss = std::function<double(const std::vector<double>& predictions, int64_t row)>;
using Kernel = std::function<void(const float* predictions, float* loss, float* gradient, float scale)>;

/// Compares the loss of each row with `row_loss`, and the gradient with its central differences.
void check(const std::vector<float>& predictions, const RowLoss& row_loss, const Kernel& kernel) {
  const std::vector<double> p = test::exactly(predictions);
  std::vector<double> loss, gradient;
  for (int64_t row = 0; row < kRows; ++row) loss.push_back(row_loss(p, row));
  for (size_t i = 0; i < p.size(); ++i) {
    std::vector<double> upper = p, lower = p;
    const double step = 1e-6;
    upper[i] += step;
    lower[i] -= step;
    const int64_t row = static_cast<int64_t>(i) / kWidth;
    gradient.push_back(0.5 * (row_loss(upper, row) - row_loss(lower, row)) / (2.0 * step));
  }
  agrees(loss, 1e-6, 1e-6,
         [&] { return written_floats(kRows, [&](float* out) { kernel(predictions.data(), out, nullptr, 0.5F); }); });
  agrees(gradient, 1e-5, 1e-6, [&] {
    return written_floats(kRows * kWidth, [&](float* out) { kernel(predictions.data(), nullptr, out, 0.5F); });
  });
  agrees(gradient, 1e-5, 1e-6, [&] {
    std::vector<float> in_place = predictions;
    kernel(in_place.data(), nullptr, in_place.data(), 0.5F);
    return in_place;
  });
}

double clip(double p) { return std::min(std::max(p, 1e-7), 1.0 - 1e-7); }

double mean_over_row(int64_t row, const std::function<double(size_t)>& f) {
  double sum = 0.0;
  for (int64_t c = 0; c < kWidth; ++c) sum += f(static_cast<size_t>(row * kWidth + c));
  return sum / static_cast<double>(kWidth);
}

TEST(Loss, CategoricalCrossEntropyOfProbabilities) {
  std::vector<float> p = random_floats(kRows * kWidth, 1, 0.05F, 1.0F);  // rows with other sums than one
  const std::vector<int32_t> labels = {4, 0, 2};
  std::vector<float> dense = random_floats(kRows * kWidth, 2, 0.0F, 1.0F), one_hot(dense.size());
  for (size_t row = 0; row < labels.size(); ++row) one_hot[row * kWidth + static_cast<size_t>(labels[row])] = 1.0F;
  for (const float smoothing : {0.0F, 0.2F}) {
    const auto row_loss = [&](const std::vector<float>& y) -> RowLoss {
      return [&y, smoothing](const std::vector<double>& q, int64_t row) {
        double sum = 0.0, loss = 0.0;
        for (int64_t c = 0; c < kWidth; ++c) sum += q[static_cast<size_t>(row * kWidth + c)];
        for (int64_t c = 0; c < kWidth; ++c) {
          const size_t i = static_cast<size_t>(row * kWidth + c);
          const double s = static_cast<double>(smoothing), target = static_cast<double>(y[i]) * (1.0 - s) + s / kWidth;
          loss -= target * std::log(clip(q[i] / sum));
        }
        return loss;
      };
    };
    const auto kernel = [&](const LossTargets& targets) -> Kernel {
      return [targets](const float* x, float* loss, float* gradient, float scale) {
        categorical_cross_entropy({}, DType::kF32, x, kRows, kWidth, targets, {loss, gradient, scale});
      };
    };
    check(p, row_loss(one_hot), kernel({labels.data(), nullptr, smoothing}));
    check(p, row_loss(dense), kernel({nullptr, dense.data(), smoothing}));
  }
}

TEST(Loss, CategoricalCrossEntropyClipsProbabilities) {
  const std::vector<float> p = {1.0F, 0.0F, 0.0F, 0.0F, 0.0F};
  const std::vector<int32_t> label = {1};
  std::vector<float> loss(1), gradient(5);
  std::vector<uint8_t> hit(1, 9);
  categorical_cross_entropy({}, DType::kF32, p.data(), 1, 5, {label.data()},
                            {.loss = loss.data(), .gradient = gradient.data(), .hit = hit.data()});
  EXPECT_NEAR(loss[0], -std::log(1e-7), 1e-5);
  for (const float g : gradient) EXPECT_EQ(g, 0.0F);  // every probability is outside the clip's range
  EXPECT_EQ(hit[0], 0);
}

TEST(Loss, BinaryCrossEntropy) {
  const std::vector<float> p = random_floats(kRows * kWidth, 3, 0.02F, 0.98F),
                           z = random_floats(kRows * kWidth, 4, -6.0F, 6.0F);
  std::vector<float> y = random_floats(kRows * kWidth, 5, 0.0F, 1.0F);
  for (size_t i = 0; i < 8; ++i) y[i] = std::round(y[i]);
  for (const float smoothing : {0.0F, 0.2F}) {
    const auto target = [&](size_t i) {
      const double s = static_cast<double>(smoothing);
      return static_cast<double>(y[i]) * (1.0 - s) + 0.5 * s;
    };
    check(
        p,
        [&](const std::vector<double>& q, int64_t row) {
          return mean_over_row(row, [&](size_t i) {
            return -(target(i) * std::log(clip(q[i])) + (1.0 - target(i)) * std::log(1.0 - clip(q[i])));
          });
        },
        [&](const float* x, float* loss, float* gradient, float scale) {
          element_loss({}, DType::kF32, {x, kRows, kWidth, {.dense = y.data()}, {loss, gradient, scale}},
                       losses::BinaryCrossentropy{{static_cast<double>(smoothing)}});
        });
    check(
        z,
        [&](const std::vector<double>& q, int64_t row) {
          return mean_over_row(row, [&](size_t i) {
            return std::max(q[i], 0.0) - q[i] * target(i) + std::log1p(std::exp(-std::abs(q[i])));
          });
        },
        [&](const float* x, float* loss, float* gradient, float scale) {
          element_loss({}, DType::kF32, {x, kRows, kWidth, {.dense = y.data()}, {loss, gradient, scale}},
                       losses::BinaryCrossentropyFromLogits{{static_cast<double>(smoothing)}});
        });
  }
}

TEST(Loss, BinaryCrossEntropyStaysFinite) {
  const std::vector<float> p = {0.0F, 1.0F}, y = {1.0F, 0.0F}, z = {-200.0F, 200.0F};
  std::vector<float> loss(2), gradient(2);
  element_loss({}, DType::kF32, {p.data(), 2, 1, {.dense = y.data()}, {loss.data(), gradient.data()}},
               losses::BinaryCrossentropy{{0.0}});
  EXPECT_NEAR(loss[0], -std::log(1e-7), 1e-4);
  EXPECT_NEAR(loss[1], -std::log(1e-7), 1e-4);
  EXPECT_EQ(gradient, (std::vector<float>{0.0F, 0.0F}));
  element_loss({}, DType::kF32, {z.data(), 2, 1, {.dense = y.data()}, {loss.data(), gradient.data()}},
               losses::BinaryCrossentropyFromLogits{{0.0}});
  EXPECT_EQ(loss, (std::vector<float>{200.0F, 200.0F}));
  EXPECT_EQ(gradient, (std::vector<float>{-1.0F, 1.0F}));
}

TEST(Loss, MeanSquaredAndAbsoluteError) {
  const std::vector<float> p = random_floats(kRows * kWidth, 6), y = random_floats(kRows * kWidth, 7);
  check(
      p,
      [&](const std::vector<double>& q, int64_t row) {
        return mean_over_row(row, [&](size_t i) { return std::pow(q[i] - static_cast<double>(y[i]), 2.0); });
      },
      [&](const float* x, float* loss, float* gradient, float scale) {
        element_loss({}, DType::kF32, {x, kRows, kWidth, {.dense = y.data()}, {loss, gradient, scale}},
                     losses::MeanSquaredError{});
      });
  check(
      p,
      [&](const std::vector<double>& q, int64_t row) {
        return mean_over_row(row, [&](size_t i) { return std::abs(q[i] - static_cast<double>(y[i])); });
      },
      [&](const float* x, float* loss, float* gradient, float scale) {
        element_loss({}, DType::kF32, {x, kRows, kWidth, {.dense = y.data()}, {loss, gradient, scale}},
                     losses::MeanAbsoluteError{});
      });
}

}  // namespace
}  // namespace dptrain::kernels::cpu
