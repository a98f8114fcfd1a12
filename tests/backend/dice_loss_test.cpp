#include <gtest/gtest.h>

#include "backend/loss_checks.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

/// Uses the elements that `wanted` selects.
template <class Wanted>
double dice_of(Row p, Row y, const Wanted& wanted) {
  double both = 0, sum = 1e-7;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (wanted(i)) both += p[i] * y[i], sum += p[i] + y[i];
  return 1 - 2 * both / sum;
}

LossCase dice_case(std::vector<std::int64_t> axis) {
  LossCase c{.loss = loss(nn::OverAxes<kernels::losses::Dice>{{}, {std::move(axis)}}), .output = {3, 2, 2}};
  c.rows = random_values(11 * 12, 0, 1, 41);
  for (double& y : c.rows) y = std::round(y);
  return c;
}

TEST(DiceLoss, PerSample) {
  const LossCase c = dice_case({1, 2, -1});
  check_loss(c, random_values(11 * 12, 0.05, 0.95, 42), c.rows,
             [](Row p, Row y) { return dice_of(p, y, [](std::size_t) { return true; }); });
}

TEST(DiceLoss, PerChannel) {
  const LossCase c = dice_case({1, 2});
  check_loss(c, random_values(11 * 12, 0.05, 0.95, 42), c.rows, [](Row p, Row y) {
    return (dice_of(p, y, [](std::size_t i) { return i % 2 == 0; }) +
            dice_of(p, y, [](std::size_t i) { return i % 2 == 1; })) /
           2;
  });
}

TEST(DiceLoss, PerLine) {
  const LossCase c = dice_case({2, 3});
  check_loss(c, random_values(11 * 12, 0.05, 0.95, 42), c.rows,
             mean_over_rows([](Row p, Row y) { return dice_of(p, y, [](std::size_t) { return true; }); }, 4));
}

TEST(DiceLoss, SkipsPositionsWithNegativeTargets) {
  for (const std::vector<std::int64_t>& axis : {std::vector<std::int64_t>{1, 2, 3}, {1, 2}, {2}}) {
    LossCase c = dice_case(axis);
    for (std::size_t i = 0; i < 11 * 6; ++i) {  // samples without the first and the last of six positions
      if (i % 6 == 0 || i % 6 == 5) c.rows[2 * i] = c.rows[2 * i + 1] = -1;
    }
    const auto counts = [](std::size_t i) { return i / 2 != 0 && i / 2 != 5; };
    check_loss(c, random_values(11 * 12, 0.05, 0.95, 42), c.rows, [&](Row p, Row y) {
      if (axis.size() == 3) return dice_of(p, y, counts);
      // Positions are [3, 2]: with axis 2 a sum has the two positions of a line, of one channel.
      double sum = 0;
      const std::size_t lines = axis.size() == 2 ? 1 : 3;
      for (std::size_t line = 0; line < lines; ++line)
        for (const std::size_t channel : {0U, 1U})
          sum += dice_of(p, y,
                         [&](std::size_t i) { return counts(i) && i % 2 == channel && (lines == 1 || i / 4 == line); });
      return sum / static_cast<double>(2 * lines);
    });
  }
}

TEST(TverskyLoss, WeighsMissedLabelsAndWrongPredictions) {
  const double alpha = 0.3, beta = 0.8;
  LossCase c = dice_case({1, 2});
  c.loss =
      loss(nn::OverAxes<kernels::losses::Tversky>{{.alpha = alpha, .beta = beta}, {std::vector<std::int64_t>{1, 2}}});
  const auto of_channel = [=](Row p, Row y, std::size_t channel) {
    double both = 0, missed = 0, wrong = 1e-7;
    for (std::size_t i = channel; i < p.size(); i += 2)
      both += p[i] * y[i], missed += (1 - p[i]) * y[i], wrong += beta * p[i] * (1 - y[i]);
    return 1 - both / (both + alpha * missed + wrong);
  };
  check_loss(c, random_values(11 * 12, 0.05, 0.95, 42), c.rows,
             [&](Row p, Row y) { return (of_channel(p, y, 0) + of_channel(p, y, 1)) / 2; });
}

}  // namespace
}  // namespace dptrain::test
