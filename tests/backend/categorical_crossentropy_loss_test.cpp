#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"
#include "nn/metrics.h"

namespace dptrain::test {
namespace {

TEST(CategoricalCrossentropyLoss, FromLogitsWithRowsAndSmoothing) {
  LossCase c{.loss = loss(nn::CategoricalCrossentropySpec{.from_logits = true, .label_smoothing = 0.1}),
             .output = {kLossWidth},
             .from_logits = true};
  c.rows = one_hot(random_classes());
  c.metrics = {metric(nn::CategoricalAccuracySpec{}), metric(nn::TopKCategoricalAccuracySpec{.k = 2})};
  check_loss(c, random_values(kLossRows * kLossWidth, -4, 4, 2), c.rows,
             of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0.1); }), {hit, top2});
}

TEST(CategoricalCrossentropyLoss, FromProbabilities) {
  LossCase c{.loss = loss(nn::CategoricalCrossentropySpec{.label_smoothing = 0.2}), .output = {kLossWidth}};
  c.classes = random_classes();
  c.metrics = {metric(nn::AccuracySpec{})};
  check_loss(c, random_values(kLossRows * kLossWidth, 0.05, 1, 3), one_hot(c.classes),
             [](Row p, Row y) { return cross_entropy(p, y, 0.2); }, {hit});
}

TEST(CategoricalCrossentropyLoss, OverPositions) {
  constexpr std::int64_t kPositions = 3;
  LossCase c{.loss = loss(nn::CategoricalCrossentropySpec{.from_logits = true}),
             .output = {kPositions, kLossWidth},
             .from_logits = true};
  c.rows = one_hot(random_classes());
  c.rows.resize(36 * kLossWidth);  // 12 samples of 3 positions
  c.metrics = {metric(nn::CategoricalAccuracySpec{})};
  const auto mean = [](const RowLoss& f) {
    return [f](Row z, Row y) {
      double sum = 0;
      for (std::size_t at = 0; at < z.size(); at += kLossWidth)
        sum += f(z.subspan(at, kLossWidth), y.subspan(at, kLossWidth));
      return sum / kPositions;
    };
  };
  check_loss(c, random_values(36 * kLossWidth, -4, 4, 4), c.rows,
             mean(of_softmax([](Row p, Row y) { return cross_entropy(p, y, 0); })), {mean(hit)});
}

}  // namespace
}  // namespace dptrain::test
