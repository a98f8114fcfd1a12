#include "kernels/cuda/loss.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "kernels/cpu/loss.h"
#include "kernels/cpu/metric.h"
#include "kernels/cuda/metric.h"
#include "kernels/losses.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

struct LossShape {
  std::int64_t rows, width;
};
// A thread, a warp and a block per row, and widths around their limits.
constexpr std::array kLossShapes{LossShape{300, 1}, LossShape{7, 2},   LossShape{3, 5},
                                 LossShape{37, 10}, LossShape{3, 270}, LossShape{2, 8},
                                 LossShape{2, 9},   LossShape{2, 256}, LossShape{2, 257}};
constexpr float kLossScale = 0.25F;

/// Labels in [0, classes).
std::vector<std::int32_t> random_labels(const LossShape& shape, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(shape.rows));
  for (std::int32_t& label : labels)
    label = static_cast<std::int32_t>(generator() % static_cast<unsigned>(shape.width));
  return labels;
}

std::vector<float> one_hot(const std::vector<std::int32_t>& labels, std::int64_t width) {
  std::vector<float> rows(labels.size() * static_cast<std::size_t>(width), 0.0F);
  for (std::size_t row = 0; row < labels.size(); ++row)
    rows[row * static_cast<std::size_t>(width) + static_cast<std::size_t>(labels[row])] = 1.0F;
  return rows;
}

struct Expected {
  std::vector<double> loss, gradient;
};

/// Loss of one row, which writes its gradient: f(prediction row, target row, gradient row) -> loss.
using RowLoss = std::function<double(const std::vector<double>&, const std::vector<double>&, std::vector<double>&)>;
Expected reference(const LossShape& shape, const std::vector<float>& predictions, const std::vector<float>& targets,
                   double scale, const RowLoss& f) {
  Expected expected;
  for (auto at = predictions.begin(); at != predictions.end(); at += shape.width) {
    const auto target = targets.begin() + (at - predictions.begin());
    std::vector<double> gradient(static_cast<std::size_t>(shape.width));
    expected.loss.push_back(f({at, at + shape.width}, {target, target + shape.width}, gradient));
    for (const double value : gradient) expected.gradient.push_back(value * scale);
  }
  return expected;
}

double softmax_loss(const std::vector<double>& z, const std::vector<double>& y, std::vector<double>& gradient) {
  const double most = *std::max_element(z.begin(), z.end());
  double sum = 0, mass = 0, dot = 0;
  for (std::size_t c = 0; c < z.size(); ++c) {
    sum += std::exp(z[c] - most);
    mass += y[c];
    dot += y[c] * (z[c] - most);
  }
  for (std::size_t c = 0; c < z.size(); ++c) gradient[c] = std::exp(z[c] - most) / sum * mass - y[c];
  return mass * std::log(sum) - dot;
}

/// Loss by definition; the gradient from -sum y ln(p / sum p), for probabilities inside the clip's range.
double categorical_loss(const std::vector<double>& p, const std::vector<double>& y, std::vector<double>& gradient) {
  double sum = 0, mass = 0, loss = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    sum += p[c];
    mass += y[c];
  }
  for (std::size_t c = 0; c < p.size(); ++c) {
    loss -= y[c] * std::log(std::clamp(p[c] / sum, 1e-7, 1.0 - 1e-7));
    gradient[c] = mass / sum - y[c] / p[c];
  }
  if (p.size() == 1) gradient[0] = 0;  // clipped: the only probability is 1
  return loss;
}

double binary_loss(const std::vector<double>& p, const std::vector<double>& y, std::vector<double>& gradient) {
  double loss = 0;
  const auto n = static_cast<double>(p.size());
  for (std::size_t c = 0; c < p.size(); ++c) {
    loss -= (y[c] * std::log(p[c]) + (1 - y[c]) * std::log(1 - p[c])) / n;
    gradient[c] = (p[c] - y[c]) / (p[c] * (1 - p[c])) / n;
  }
  return loss;
}

double binary_loss_of_logits(const std::vector<double>& z, const std::vector<double>& y,
                             std::vector<double>& gradient) {
  double loss = 0;
  const auto n = static_cast<double>(z.size());
  for (std::size_t c = 0; c < z.size(); ++c) {
    const double p = 1 / (1 + std::exp(-z[c]));
    loss -= (y[c] * std::log(p) + (1 - y[c]) * std::log(1 - p)) / n;
    gradient[c] = (p - y[c]) / n;
  }
  return loss;
}

double squared_loss(const std::vector<double>& p, const std::vector<double>& y, std::vector<double>& gradient) {
  double loss = 0;
  const auto n = static_cast<double>(p.size());
  for (std::size_t c = 0; c < p.size(); ++c) {
    loss += (p[c] - y[c]) * (p[c] - y[c]) / n;
    gradient[c] = 2 * (p[c] - y[c]) / n;
  }
  return loss;
}

double absolute_loss(const std::vector<double>& p, const std::vector<double>& y, std::vector<double>& gradient) {
  double loss = 0;
  const auto n = static_cast<double>(p.size());
  for (std::size_t c = 0; c < p.size(); ++c) {
    loss += std::abs(p[c] - y[c]) / n;
    gradient[c] = (p[c] > y[c] ? 1 : p[c] < y[c] ? -1 : 0) / n;
  }
  return loss;
}

using Kernel = void (*)(const Launch&, DType, const void*, std::int64_t, std::int64_t, const LossTargets&,
                        const LossOutputs&);

enum class Smoothing { kNone, kClasses, kBinary };

/// Compares `kernel` with `f` of the smoothed targets: labels and dense targets, with and without smoothing and loss
/// scale, with the gradient in separate memory and in place of the predictions.
void check(Kernel kernel, const RowLoss& f, float low, float high, Smoothing smoothing, bool labels_allowed) {
  for (const LossShape& shape : kLossShapes) {
    SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.width));
    on_every_type([&](DType type, int offset) {
      const std::int64_t n = shape.rows * shape.width;
      const std::vector<std::int32_t> labels = random_labels(shape, 1);
      Array<std::int32_t> label_memory(labels);
      Array<LossScale> loss_scale(std::vector<LossScale>{{.scale = 8.0F}});
      for (const bool dense : {false, true}) {
        if (!dense && !labels_allowed) continue;
        const std::vector<float> targets = dense ? random_floats(n, 2, 0.05F, 0.9F) : one_hot(labels, shape.width);
        Array<float> target_memory(targets, offset);
        for (const float amount : {0.0F, 0.1F}) {
          std::vector<float> smoothed = targets;
          if (smoothing != Smoothing::kNone) {
            const float share = smoothing == Smoothing::kBinary ? 2.0F : static_cast<float>(shape.width);
            for (float& y : smoothed) y = y * (1 - amount) + amount / share;
          }
          Tensor predictions(type, random_floats(n, 3, low, high), offset), gradient(type, n, offset);
          const Expected expected = reference(shape, predictions.read(), smoothed, 8.0 * kLossScale, f);
          Array<float> loss(shape.rows);
          const LossTargets wanted{.labels = dense ? nullptr : label_memory.data(),
                                   .dense = dense ? target_memory.data() : nullptr,
                                   .label_smoothing = amount};
          LossOutputs outputs{.loss = loss.data(),
                              .gradient = gradient.data(),
                              .gradient_scale = kLossScale,
                              .loss_scale = loss_scale.data()};
          kernel(test_launch(), type, predictions.data(), shape.rows, shape.width, wanted, outputs);
          expect_near(DType::kF32, expected.loss, loss.read(), 3e-6, 3e-6);
          expect_near(type, expected.gradient, gradient.read(), 1e-5, 3e-6);

          outputs = {.gradient = predictions.data(), .gradient_scale = 8.0F * kLossScale};
          kernel(test_launch(), type, predictions.data(), shape.rows, shape.width, wanted, outputs);
          EXPECT_EQ(predictions.read(), gradient.read());
        }
      }
    });
  }
}

TEST(Loss, SoftmaxCrossEntropy) { check(softmax_cross_entropy, softmax_loss, -5.0F, 5.0F, Smoothing::kClasses, true); }
TEST(Loss, CategoricalCrossEntropy) {
  check(categorical_cross_entropy, categorical_loss, 0.1F, 1.0F, Smoothing::kClasses, true);
}
/// Wraps elementwise losses in the signature of the others.
template <class F>
void of_elements(const Launch& at, DType type, const void* p, std::int64_t rows, std::int64_t width,
                 const LossTargets& targets, const LossOutputs& outputs) {
  element_loss(at, type, {p, rows, width, targets, outputs}, F{});
}
template <class F>
void with_smoothing(const Launch& at, DType type, const void* p, std::int64_t rows, std::int64_t width,
                    const LossTargets& targets, const LossOutputs& outputs) {
  element_loss(at, type, {p, rows, width, targets, outputs}, F{{static_cast<double>(targets.label_smoothing)}});
}

TEST(Loss, BinaryCrossEntropy) {
  check(with_smoothing<losses::BinaryCrossentropy>, binary_loss, 0.02F, 0.98F, Smoothing::kBinary, false);
}
TEST(Loss, BinaryCrossEntropyFromLogits) {
  check(with_smoothing<losses::BinaryCrossentropyFromLogits>, binary_loss_of_logits, -6.0F, 6.0F, Smoothing::kBinary,
        false);
}
TEST(Loss, MeanSquaredError) {
  check(of_elements<losses::MeanSquaredError>, squared_loss, -2.0F, 2.0F, Smoothing::kNone, false);
}
TEST(Loss, MeanAbsoluteError) {
  check(of_elements<losses::MeanAbsoluteError>, absolute_loss, -2.0F, 2.0F, Smoothing::kNone, false);
}

TEST(Loss, LabelsAreOneHotRowsOrNumbers) {
  Array<std::int32_t> labels(std::vector<std::int32_t>{2, 0, 5});  // 5: out of range in a row of three
  Array<float> p(std::vector<float>{0, 0, 0.5F, 1, 0, 0, 0, 0, 0}), loss(3);
  const LossTargets targets{.labels = labels.data()};
  of_elements<losses::MeanSquaredError>(test_launch(), DType::kF32, p.data(), 3, 3, targets, {.loss = loss.data()});
  expect_near(DType::kF32, {0.25 / 3, 0.0, 0.0}, loss.read());
  of_elements<losses::MeanAbsoluteError>(test_launch(), DType::kF32, p.data(), 3, 1, targets, {.loss = loss.data()});
  expect_near(DType::kF32, {2.0, 0.0, 4.5}, loss.read());
}

TEST(Loss, ClipsAndBadLabelsEqualTheCpu) {
  const LossShape shape{4, 3};
  const std::vector<float> p{1, 0, 0, 0, 1, 0, 0.5F, 0.25F, 0.25F, 0.2F, 0.3F, 0.5F};
  const std::vector<std::int32_t> labels{1, 1, -1, 3};
  std::vector<float> loss(4), gradient(12);
  std::vector<std::uint8_t> hit(4);
  cpu::categorical_cross_entropy({}, DType::kF32, p.data(), 4, 3, {.labels = labels.data()},
                                 {.loss = loss.data(), .gradient = gradient.data(), .hit = hit.data()});
  Array<float> predictions(p), found(4), slope(12);
  Array<std::int32_t> label_memory(labels), hits(4);
  categorical_cross_entropy(test_launch(), DType::kF32, predictions.data(), shape.rows, shape.width,
                            {.labels = label_memory.data()},
                            {.loss = found.data(), .gradient = slope.data(), .hit = hits.data()});
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(hits.read()[row], hit[row]);
    const bool bad = row >= 2;
    EXPECT_EQ(std::isnan(loss[row]), bad);
    if (bad)
      EXPECT_TRUE(std::isnan(found.read()[row]));
    else
      EXPECT_NEAR(loss[row], found.read()[row], 1e-5);
    for (std::size_t i = 3 * row; i < 3 * row + 3; ++i)
      EXPECT_TRUE(bad ? std::isnan(slope.read()[i]) : std::abs(gradient[i] - slope.read()[i]) < 1e-5) << i;
  }

  std::vector<float> binary(1), binary_gradient(12);
  const std::vector<float> y{0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0};
  Array<float> targets(y), one(1);
  cpu::element_loss({}, DType::kF32, {p.data(), 1, 12, {.dense = y.data()}, {binary.data(), binary_gradient.data()}},
                    losses::BinaryCrossentropy{{0.0}});
  element_loss(test_launch(), DType::kF32,
               {predictions.data(), 1, 12, {.dense = targets.data()}, {.loss = one.data(), .gradient = slope.data()}},
               losses::BinaryCrossentropy{{0.0}});
  EXPECT_NEAR(binary[0], one.read()[0], 1e-6);
  expect_near(DType::kF32, {binary_gradient.begin(), binary_gradient.end()}, slope.read());

  softmax_cross_entropy(test_launch(), DType::kF32, predictions.data(), 4, 3, {.labels = label_memory.data()},
                        {.loss = found.data(), .gradient = slope.data()});
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(std::isnan(found.read()[row]), row >= 2);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(slope.read()[i]), i >= 6);
}

TEST(Loss, AcceptsLogitsOfMinusInfinityWithoutTarget) {
  const float inf = std::numeric_limits<float>::infinity();
  Array<float> z(std::vector<float>{1, -inf, 2}), loss(1), gradient(3);
  Array<std::int32_t> label(std::vector<std::int32_t>{0});
  softmax_cross_entropy(test_launch(), DType::kF32, z.data(), 1, 3, {.labels = label.data()},
                        {.loss = loss.data(), .gradient = gradient.data()});
  const double p = 1 / (1 + std::exp(1.0));
  expect_near(DType::kF32, {-std::log(p)}, loss.read());
  expect_near(DType::kF32, {p - 1, 0, 1 - p}, gradient.read());
}

/// Scores with many ties, which test that the first of equals counts.
std::vector<float> tied_scores(std::int64_t n, std::uint32_t seed) {
  std::vector<float> scores = random_floats(n, seed, 0.0F, 3.0F);
  for (float& score : scores) score = std::floor(score) - 1.0F;
  return scores;
}

TEST(Loss, HitsEqualTheCpu) {
  for (const LossShape& shape : kLossShapes) {
    const std::int64_t n = shape.rows * shape.width;
    const std::vector<std::int32_t> labels = random_labels(shape, 5);
    const std::vector<float> scores = tied_scores(n, 6), dense = tied_scores(n, 7);
    Array<std::int32_t> label_memory(labels);
    Array<float> dense_memory(dense);
    on_every_type([&](DType type, int offset) {
      Tensor s(type, scores, offset);
      Array<std::int32_t> hits(shape.rows);
      std::vector<std::uint8_t> expected(static_cast<std::size_t>(shape.rows));
      const auto expect_hits = [&](const char* what) {
        EXPECT_EQ(hits.read(), std::vector<std::int32_t>(expected.begin(), expected.end())) << what;
      };
      for (const bool is_dense : {false, true}) {
        const LossTargets there{.labels = is_dense ? nullptr : labels.data(),
                                .dense = is_dense ? dense.data() : nullptr};
        const LossTargets here{.labels = is_dense ? nullptr : label_memory.data(),
                               .dense = is_dense ? dense_memory.data() : nullptr};
        cpu::categorical_hits({}, DType::kF32, scores.data(), shape.rows, shape.width, there, expected.data());
        categorical_hits(test_launch(), type, s.data(), shape.rows, shape.width, here, hits.data());
        expect_hits("argmax");
        softmax_cross_entropy(test_launch(), type, s.data(), shape.rows, shape.width, here, {.hit = hits.data()});
        expect_hits("with the loss");
        cpu::top_k_hits({}, DType::kF32, scores.data(), shape.rows, shape.width, there, 3, expected.data());
        top_k_hits(test_launch(), type, s.data(), shape.rows, shape.width, here, 3, hits.data());
        expect_hits("top 3");
      }
      std::vector<std::int32_t> counts(static_cast<std::size_t>(shape.rows));
      cpu::binary_hits({}, DType::kF32, scores.data(), shape.rows, shape.width, {.dense = dense.data()}, 0.5F,
                       counts.data());
      binary_hits(test_launch(), type, s.data(), shape.rows, shape.width, {.dense = dense_memory.data()}, 0.5F,
                  hits.data());
      EXPECT_EQ(hits.read(), counts);
    });
  }
}

TEST(Loss, NaNIsNotAHit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Array<float> scores(std::vector<float>{nan, 1, 0, nan, nan, nan});
  Array<std::int32_t> labels(std::vector<std::int32_t>{1, 0}), hits(2);
  const LossTargets targets{.labels = labels.data()};
  categorical_hits(test_launch(), DType::kF32, scores.data(), 2, 3, targets, hits.data());
  EXPECT_EQ(hits.read(), (std::vector<std::int32_t>{1, 0}));
  top_k_hits(test_launch(), DType::kF32, scores.data(), 2, 3, targets, 3, hits.data());
  EXPECT_EQ(hits.read(), (std::vector<std::int32_t>{1, 0}));
}

TEST(Loss, SumsAreAddedInDouble) {
  for (const std::int64_t n : {0, 1, 5, 4095, 4096, 4097, 8193, 30001}) {
    const std::vector<float> values = random_floats(n, 8, -1.0F, 3.0F);
    std::vector<std::int32_t> counts;
    double sum = 0, count = 0;
    for (const float value : values) {
      sum += static_cast<double>(value);
      counts.push_back(static_cast<std::int32_t>(value * 100.0F));
      count += counts.back();
    }
    Array<float> v(values);
    Array<std::int32_t> c(counts);
    Array<double> workspace(add_sum_workspace()), sums(std::vector<double>{1.5, -2.0});
    add_sum(test_launch(), v.data(), n, 2.0, workspace.data(), sums.data());
    add_sum(test_launch(), c.data(), n, 4.0, workspace.data(), sums.data() + 1);
    EXPECT_NEAR(sums.read()[0], 1.5 + 0.5 * sum, 1e-10);
    EXPECT_EQ(sums.read()[1], -2.0 + 0.25 * count);
    const double first = sums.read()[0];
    Array<double> again(std::vector<double>{1.5});
    add_sum(test_launch(3), v.data(), n, 2.0, workspace.data(), again.data());
    EXPECT_EQ(again.read()[0], first) << "depends on the device";
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
