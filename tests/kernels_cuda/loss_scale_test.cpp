#include "kernels/cuda/loss_scale.h"

#include <cmath>
#include <limits>

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

LossScale after(const LossScale& before, const std::function<void(LossScale*)>& f) {
  Array<LossScale> scale(std::vector<LossScale>{before});
  f(scale.data());
  return scale.read()[0];
}

TEST(LossScale, UnscaleDividesAndChecks) {
  for (const std::int64_t n : {1, 6, 5003}) {
    for (const int offset : {0, 1}) {
      const std::vector<float> x = random_floats(n, 1);
      for (const std::int64_t place : {std::int64_t{-1}, std::int64_t{0}, n / 2, n - 1}) {
        for (const float bad : {kInf, -kInf, kNan}) {
          std::vector<float> values = x;
          if (place >= 0) values[static_cast<std::size_t>(place)] = bad;
          Array<float> g(values, offset);
          EXPECT_EQ(after({}, [&](LossScale* scale) { find_infinite(test_launch(), g.data(), n, scale); }).found_inf,
                    place >= 0 ? 1 : 0);
          const LossScale found =
              after({.scale = 4.0F}, [&](LossScale* scale) { unscale(test_launch(), scale, n, g.data()); });
          EXPECT_EQ(found.found_inf, place >= 0 ? 1 : 0);
          EXPECT_EQ(found.scale, 4.0F);
          const std::vector<float> divided = g.read();
          for (std::int64_t i = 0; i < n; ++i) {
            if (i != place) {
              ASSERT_EQ(at(divided, i), at(values, i) / 4);
            }
          }
        }
      }
    }
  }
}

TEST(LossScale, LargestFloatIsFinite) {
  Array<float> g(std::vector<float>{std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()});
  EXPECT_EQ(after({}, [&](LossScale* scale) { unscale(test_launch(), scale, 2, g.data()); }).found_inf, 0);
}

TEST(LossScale, UnscaleKeepsAFlagThatIsSet) {
  Array<float> g(std::vector<float>{1, 2});
  EXPECT_EQ(after({.found_inf = 1}, [&](LossScale* scale) { unscale(test_launch(), scale, 2, g.data()); }).found_inf,
            1);
}

TEST(LossScale, CountsSkippedSteps) {
  const auto count = [](const LossScale& before) {
    return after(before, [](LossScale* scale) { count_skipped(test_launch(), scale); });
  };
  EXPECT_EQ(count({.found_inf = 0, .skipped = 2}).skipped, 2);
  const LossScale next = count({.scale = 8.0F, .found_inf = 1, .skipped = 2});
  EXPECT_EQ(next.skipped, 3);
  EXPECT_EQ(next.found_inf, 0);
  EXPECT_EQ(next.scale, 8.0F);
}

TEST(LossScale, ANonFiniteLossMarksAGradient) {
  for (const double bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    Array<double> loss(std::vector<double>{bad});
    Array<float> g(std::vector<float>{1, 2});
    mark_not_finite(test_launch(), loss.data(), g.data());
    EXPECT_TRUE(std::isnan(g.read()[0])) << bad;
    EXPECT_EQ(g.read()[1], 2);
  }
  Array<double> loss(std::vector<double>{1e300});
  Array<float> g(std::vector<float>{1});
  mark_not_finite(test_launch(), loss.data(), g.data());
  EXPECT_EQ(g.read()[0], 1);
}

TEST(LossScale, HalvedByInfinitiesDoubledByGoodSteps) {
  const auto update = [](const LossScale& before) {
    return after(before, [](LossScale* scale) { update_loss_scale(test_launch(), scale); });
  };
  LossScale next = update({.scale = 8.0F, .good_steps = 1500, .found_inf = 1, .skipped = 2});
  EXPECT_EQ(next.scale, 4.0F);
  EXPECT_EQ(next.good_steps, 0);
  EXPECT_EQ(next.found_inf, 0);
  EXPECT_EQ(next.skipped, 3);

  next = update({.scale = 8.0F, .good_steps = 1998});
  EXPECT_EQ(next.scale, 8.0F);
  EXPECT_EQ(next.good_steps, 1999);
  next = update(next);
  EXPECT_EQ(next.scale, 16.0F);
  EXPECT_EQ(next.good_steps, 0);
  EXPECT_EQ(next.skipped, 0);

  EXPECT_EQ(update({.scale = 1.0F, .found_inf = 1}).scale, 1.0F);
  EXPECT_EQ(update({.scale = 1.5F, .found_inf = 1}).scale, 1.0F);
  EXPECT_EQ(update({.scale = 0x1p127F, .good_steps = 1999}).scale, 0x1p127F);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
