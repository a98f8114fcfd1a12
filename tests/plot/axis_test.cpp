#include "plot/axis.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dptrain::plot {
namespace {

TEST(Ticks, AreRoundAndInside) {
  EXPECT_EQ(ticks(0, 10, 5, false), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(1, 3, 10, true), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(ticks(7, 7, 5, false), std::vector<double>{7});
  for (const double scale : {1e-7, 1e-3, 1.0, 1e5, 1e9}) {
    const std::vector<double> t = ticks(0.13 * scale, 0.97 * scale, 5, false);
    ASSERT_GE(t.size(), 3U) << scale;
    ASSERT_LE(t.size(), 11U) << scale;
    EXPECT_GE(t.front(), 0.13 * scale * (1 - 1e-9));
    EXPECT_LE(t.back(), 0.97 * scale * (1 + 1e-9));
  }
}

TEST(Ticks, OfALogarithmicAxisArePowersOfTen) {
  const auto text = [](const std::vector<double>& values) {
    std::string all;
    for (const double value : values) all += log_tick_text(value) + " ";
    return all;
  };
  EXPECT_EQ(text(log_ticks(0.008, 120, 6)), "0.01 0.1 1 10 100 ");
  EXPECT_EQ(text(log_ticks(0.3, 4, 6)), "0.5 1 2 ");
  EXPECT_EQ(text(log_ticks(1e-9, 1e9, 5)), "1e-9 1e-5 0.1 1000 1e7 ");
  EXPECT_EQ(text(log_ticks(1.1, 1.9, 4)), "1.2 1.4 1.6 1.8 ") << "no power within";
}

TEST(Ticks, TextsAreShort) {
  EXPECT_EQ(tick_text(10500, {10000, 10500, 11000}), "10.5k");
  EXPECT_EQ(tick_text(2e6, {0, 1e6, 2e6}), "2M");
  EXPECT_EQ(tick_text(0.2, {0, 0.2, 0.4}), "0.2");
  EXPECT_EQ(tick_text(5e-4, {0, 5e-4}), "5e-4");
  EXPECT_EQ(tick_text(2.5e12, {0, 2.5e12}), "2.5e12");
  EXPECT_EQ(tick_text(0, {0, 1e-30}), "0");
}

TEST(SpansDecades, DetectsValuesOverDecades) {
  std::vector<double> falling, cosine;
  for (int i = 0; i < 100; ++i) {
    falling.push_back(std::pow(10.0, -i / 25.0));
    cosine.push_back(0.5 + 0.5 * std::cos(M_PI * i / 99));
  }
  EXPECT_TRUE(spans_decades(falling));
  EXPECT_FALSE(spans_decades(cosine)) << "near zero only at the end";
  EXPECT_FALSE(spans_decades({2.3, 1.1, 0.7}));
  EXPECT_TRUE(spans_decades({2.3, 1.1, 0.7, 1e6})) << "one run has exploded";
  EXPECT_FALSE(spans_decades({2.3, -1, 1e6})) << "not on a logarithmic axis";
  EXPECT_FALSE(spans_decades({NAN, INFINITY}));
  EXPECT_FALSE(spans_decades({}));
}

TEST(Axis, MapsValuesToPixels) {
  const Axis linear({0, 10}, false, 100, 0);
  EXPECT_DOUBLE_EQ(linear.at(0), 100);
  EXPECT_DOUBLE_EQ(linear.at(2.5), 75);
  const Axis log({0.01, 100}, true, 0, 40);
  EXPECT_DOUBLE_EQ(log.at(1), 20);
  EXPECT_FALSE(log.shows(0));
  EXPECT_FALSE(log.shows(NAN));
  const Axis point({3, 3}, false, 0, 10);
  EXPECT_DOUBLE_EQ(point.at(3), 5);
}

}  // namespace
}  // namespace dptrain::plot
