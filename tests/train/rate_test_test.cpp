#include "train/rate_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/format.h"

namespace dptrain::train {
namespace {

/// Adds losses of a simulated network until the curve is complete.
RateCurve curve_of(const RateRange& range, const std::function<double(double rate)>& loss) {
  RateCurve curve(range);
  for (std::int64_t step = 0; curve.add(loss(curve.rate(step))); ++step) {
  }
  return curve;
}

/// Flat at 2, falls around `knee` to 1 within a decade, and grows from a thousand times the knee.
double usual(double rate, double knee) {
  return 1 + 1 / (1 + std::pow(rate / knee, 2)) + std::pow(rate / (1000 * knee), 2);
}

TEST(RateTest, RatesGrowByAConstantFactor) {
  const RateCurve curve({.low = 1e-6, .high = 1, .steps = 61});
  EXPECT_DOUBLE_EQ(curve.rate(0), 1e-6);
  EXPECT_NEAR(curve.rate(60), 1, 1e-12);
  EXPECT_NEAR(curve.rate(31) / curve.rate(30), std::pow(10, 0.1), 1e-9);
}

TEST(RateTest, SmoothsWithoutBiasAtTheBegin) {
  RateCurve curve({.low = 1, .high = 2, .steps = 10});
  curve.add(3);
  curve.add(3);
  curve.add(1);
  EXPECT_NEAR(curve.points()[0].smoothed, 3, 1e-12);
  EXPECT_NEAR(curve.points()[1].smoothed, 3, 1e-12);
  const double weights = 0.81 + 0.9 + 1;  // times 0.1, as in both sums
  EXPECT_NEAR(curve.points()[2].smoothed, (0.81 * 3 + 0.9 * 3 + 1) / weights, 1e-12);
}

TEST(RateTest, AdvisesTheSmallerOfSteepestAndATenthOfTheLowest) {
  const RateCurve curve =
      curve_of({.low = 1e-7, .high = 10, .steps = 200}, [](double rate) { return usual(rate, 1e-3); });
  EXPECT_TRUE(curve.diverged());
  const auto advice = curve.advice();
  ASSERT_TRUE(advice);
  // The smoothed loss lags by some steps, at most a factor of three in the rate.
  EXPECT_GT(advice->steepest, 5e-4);
  EXPECT_LT(advice->steepest, 5e-3);
  EXPECT_GT(advice->below_lowest, 1e-3);
  EXPECT_LT(advice->below_lowest, 3e-2);
  EXPECT_NEAR(advice->rate, std::min(advice->steepest, advice->below_lowest), 0.05 * advice->rate);
}

TEST(RateTest, TheAdviceHasTwoDigits) {
  for (const double knee : {1e-4, 3e-4, 1e-3, 7e-3, 2e-2, 5e-2, 0.1, 0.3}) {
    const auto advice =
        curve_of({.low = 1e-7, .high = 10, .steps = 200}, [&](double rate) { return usual(rate, knee); }).advice();
    ASSERT_TRUE(advice) << knee;
    EXPECT_EQ(advice->rate, std::stod(fmt::format("{:.1e}", advice->rate))) << knee;
  }
}

TEST(RateTest, StopsWhenTheLossDiverges) {
  const RateRange range{.low = 1e-3, .high = 1e3, .steps = 100};
  const RateCurve grows = curve_of(range, [](double rate) { return rate < 1 ? 1 : rate * rate; });
  EXPECT_TRUE(grows.diverged());
  EXPECT_LT(grows.points().size(), 80U);
  EXPECT_GT(grows.points().back().smoothed, 4);
  const RateCurve nan =
      curve_of(range, [](double rate) { return rate < 1 ? 1 : std::numeric_limits<double>::quiet_NaN(); });
  EXPECT_TRUE(nan.diverged());
  EXPECT_EQ(nan.points().size(), 50U);  // all are finite
}

TEST(RateTest, HasNoAdviceIfTheLossNeverFalls) {
  const RateRange range{.low = 1e-3, .high = 1e3, .steps = 100};
  EXPECT_FALSE(curve_of(range, [](double rate) { return 1 + rate / 1000; }).advice());
  EXPECT_FALSE(RateCurve(range).advice());
  const RateCurve all_steps = curve_of(range, [](double rate) { return 1 / (1 + rate); });
  EXPECT_FALSE(all_steps.diverged());
  EXPECT_EQ(all_steps.points().size(), 100U);
  EXPECT_TRUE(all_steps.advice());
}

}  // namespace
}  // namespace dptrain::train
