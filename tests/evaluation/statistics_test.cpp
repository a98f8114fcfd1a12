// Tails, quantiles and bounds compared with published tables.

#include "evaluation/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dptrain::evaluation {
namespace {

TEST(Statistics, NormalAndStudentAsInTables) {
  EXPECT_NEAR(normal_quantile(0.95), 1.6448536269514722, 1e-12);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-12);
  EXPECT_NEAR(normal_tail(2), 0.02275013194817921, 1e-15);
  EXPECT_NEAR(student_tail(1, 1), 0.25, 1e-12) << "Cauchy's distribution";
  EXPECT_NEAR(student_tail(2, 2), (1 - 2 / std::sqrt(6.0)) / 2, 1e-12) << "which has a closed form";
  EXPECT_NEAR(student_tail(-2, 2), (1 + 2 / std::sqrt(6.0)) / 2, 1e-12);
  EXPECT_NEAR(student_quantile(0.95, 10), 1.812461, 1e-6);
  EXPECT_NEAR(student_quantile(0.999, 4), 7.173182, 1e-6);
  EXPECT_NEAR(student_quantile(0.99, 1e7), normal_quantile(0.99), 1e-6);
}

TEST(Statistics, DerivativesOfTheGammaFunction) {
  EXPECT_NEAR(digamma(1), -0.5772156649015329, 1e-12);
  EXPECT_NEAR(digamma(0.5), -1.9635100260214235, 1e-12);
  EXPECT_NEAR(trigamma(1), 1.6449340668482264, 1e-12);
  EXPECT_NEAR(trigamma(0.5), 4.934802200544679, 1e-12);
  EXPECT_NEAR(trigamma_inverse(trigamma(3.7)), 3.7, 1e-9);
}

TEST(Statistics, WilsonsBoundsInvertHisTest) {
  const Interval two_sided = wilson(81, 263, 0.975);  // Newcombe, Statistics in Medicine 17, 1998, table I
  EXPECT_NEAR(two_sided.low, 0.2553, 5e-5);
  EXPECT_NEAR(two_sided.high, 0.3662, 5e-5);
  EXPECT_NEAR(wilson_p(81, 263, two_sided.high, false), 0.025, 1e-9);
  EXPECT_NEAR(wilson_p(81, 263, two_sided.low, true), 0.025, 1e-9);
  EXPECT_EQ(wilson(0, 29, 0.975).low, 0);
  EXPECT_NEAR(wilson(0, 29, 0.975).high, 0.1170, 5e-5);
  EXPECT_EQ(wilson_p(9, 10, 1, false), 0) << "one wrong answer is proof that not all are right";
  EXPECT_EQ(wilson_p(10, 10, 1, false), 1);
}

TEST(Statistics, HolmsLevelsRiseUntilOneHolds) {
  EXPECT_EQ(holm_levels({0.2, 0.001, 0.004}, 0.01), (std::vector<double>{0.01, 0.01 / 3, 0.005}));
  EXPECT_EQ(holm_levels({0.004, 0.0045, 0.0049}, 0.01), (std::vector<double>(3, 0.01 / 3)))
      << "the first is not rejected, so none is";
  EXPECT_TRUE(holm_levels({}, 0.01).empty());
}

}  // namespace
}  // namespace dptrain::evaluation
