// Sums over gradients and weights, and their uses: clipping, penalties, statistics.

#include <cmath>

#include "kernels/cpu/optimizer.h"
#include "kernels_cuda/optimizer_arena.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

TEST(Optimizer, ClipByValue) {
  on_every_size([](std::int64_t n, int offset) {
    std::vector<float> x = random_floats(n, 4);
    x[0] = std::numeric_limits<float>::quiet_NaN();
    Array<float> g(x, offset);
    clip_by_value(test_launch(), 0.5F, n, g.data());
    const std::vector<float> found = g.read();
    EXPECT_TRUE(std::isnan(found[0]));
    for (std::size_t i = 1; i < x.size(); ++i) ASSERT_EQ(found[i], std::clamp(x[i], -0.5F, 0.5F));
  });
}

double square_sum(const std::vector<float>& x, std::size_t begin, std::size_t n) {
  double sum = 0;
  for (std::size_t i = begin; i < begin + n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

TEST(Optimizer, SumOfSquares) {
  on_every_size([](std::int64_t n, int offset) {
    Array<float> x(random_floats(n, 5), offset);
    Array<double> workspace(norm_workspace()), sum(1);
    sum_of_squares(test_launch(), x.data(), n, workspace.data(), sum.data());
    const double expected = square_sum(x.read(), 0, static_cast<std::size_t>(n));
    EXPECT_NEAR(sum.read()[0], expected, 1e-13 * expected);
  });
  Array<double> workspace(norm_workspace()), sum(1);
  sum_of_squares(test_launch(), nullptr, 0, workspace.data(), sum.data());
  EXPECT_EQ(sum.read()[0], 0.0);
}

TEST(Optimizer, ClipByGlobalNorm) {
  on_every_size([](std::int64_t n, int offset) {
    const std::vector<float> x = random_floats(n, 6);
    const double norm = std::sqrt(square_sum(x, 0, x.size()));
    Array<float> g(x, offset);
    Array<double> workspace(norm_workspace());
    clip_by_global_norm(test_launch(), norm * 1.001, n, workspace.data(), g.data());
    EXPECT_EQ(g.read(), x) << "below the limit";
    clip_by_global_norm(test_launch(), norm / 3, n, workspace.data(), g.data());
    std::vector<double> expected = doubles(x);
    for (double& value : expected) value /= 3;
    expect_near(DType::kF32, expected, g.read(), 1e-6);
  });
}

TEST(Optimizer, PropagatesNanInTheNorm) {
  Array<float> g(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 2});
  Array<double> workspace(norm_workspace());
  clip_by_global_norm(test_launch(), 1.0, 3, workspace.data(), g.data());
  for (const float value : g.read()) EXPECT_TRUE(std::isnan(value));
}

TEST(Optimizer, ClipByNorm) {
  const Array<Segment> rows(segments<Segment>());
  const Table<Segment> table{rows.data(), rows.size(), kLongest};
  const std::vector<float> x = random_floats(kArena, 7);
  Array<float> g(x);
  Array<double> workspace(segments_workspace(table.count));
  clip_by_norm(test_launch(), 3.0, table, workspace.data(), g.data());
  std::vector<double> expected = doubles(x);
  for (const Range& range : kRanges) {
    const auto begin = static_cast<std::size_t>(range.offset), n = static_cast<std::size_t>(range.length);
    const double norm = std::sqrt(square_sum(x, begin, n));
    for (std::size_t i = begin; i < begin + n; ++i) expected[i] *= 3.0 / std::max(norm, 3.0);
  }
  expect_near(DType::kF32, expected, g.read(), 1e-6);
}

TEST(Optimizer, Penalties) {
  const auto penalty = [](PenaltySegment& row, std::size_t i) {
    row.l1 = i % 2 == 0 ? 0.0F : 0.01F;
    row.l2 = i == 1 ? 0.0F : 0.02F;
  };
  const Array<PenaltySegment> rows(segments<PenaltySegment>(penalty));
  const Table<PenaltySegment> table{rows.data(), rows.size(), kLongest};
  std::vector<float> w = random_floats(kArena, 8);
  w[10] = 0.0F;
  const std::vector<float> x = random_floats(kArena, 9);
  Array<float> weights(w), g(x);
  std::vector<float> expected = x;
  double value = 0;
  for (const PenaltySegment& row : rows.read()) {
    cpu::add_l1l2_gradient(w.data() + row.offset, row.length, row.l1, row.l2, 1.0F, expected.data() + row.offset);
    for (std::int64_t i = row.offset; i < row.offset + row.length; ++i)
      value += static_cast<double>(row.l1) * std::abs(at(w, i)) + static_cast<double>(row.l2) * at(w, i) * at(w, i);
  }
  add_penalty_gradient(test_launch(), table, weights.data(), g.data());
  expect_near(DType::kF32, doubles(expected), g.read(), 1e-6, 1e-8);

  Array<double> workspace(segments_workspace(table.count)), sum(1);
  penalty_value(test_launch(), table, weights.data(), workspace.data(), sum.data());
  EXPECT_NEAR(sum.read()[0], value, 1e-12 * value);
  penalty_value(test_launch(), {}, weights.data(), workspace.data(), sum.data());
  EXPECT_EQ(sum.read()[0], 0.0);
}

TEST(Optimizer, MovingStatistics) {
  const auto momentum = [](StatisticSegment& row, std::size_t i) { row.momentum = i == 1 ? 0.9 : 0.99; };
  const Array<StatisticSegment> rows(segments<StatisticSegment>(momentum));
  const Table<StatisticSegment> table{rows.data(), rows.size(), kLongest};
  Array<float> values(random_floats(kArena, 10)), w(random_floats(kArena, 11));
  Array<LossScale> scale(std::vector<LossScale>{{.found_inf = 1}});
  std::vector<float> expected = w.read();
  update_statistics(test_launch(), table, scale.data(), values.data(), w.data());
  EXPECT_EQ(w.read(), expected);
  const std::vector<float> x = values.read();
  for (const StatisticSegment& row : rows.read())
    cpu::ema_update(row.momentum, x.data() + row.offset, row.length, expected.data() + row.offset);
  update_statistics(test_launch(), table, nullptr, values.data(), w.data());
  expect_near(DType::kF32, doubles(expected), w.read(), 1e-6, 1e-8);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
