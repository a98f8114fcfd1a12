#include "kernels/cpu/noise.h"

#include <gtest/gtest.h>

#include "kernels/draws.h"
#include "kernels/normal_pair.h"

namespace dptrain::kernels::cpu {
namespace {

double drawn(const Noise& n, int64_t row, int64_t element) {
  const PhiloxBlock block = test::words_of(n, row, element);
  const int64_t first = element % 4 / 2 * 2;
  const NormalPair pair = normal_pair(block.word[first], block.word[first + 1]);
  return static_cast<double>(element % 2 == 0 ? pair.first : pair.second);
}

TEST(Noise, FollowsPhilox) {
  const Noise noise{.stddev = 0.4F, .seed = 17, .layer = 3, .step = (uint64_t{5} << 32) + 9, .first_row = 1000};
  // A few units in the last place of numbers up to 6.
  test::follows_philox<Noise>(noise, 2e-6, add_noise, add_noise, [&](double value, int64_t row, int64_t element) {
    return value + 0.4 * drawn(noise, row, element);
  });
}

TEST(Noise, ASliceGetsTheSameNumbersAsTheBatch) {
  test::slice_draws_as_the_batch<Noise>({.stddev = 0.5F, .seed = 1, .layer = 2, .step = 3, .first_row = 40}, add_noise);
}

TEST(Noise, IsNormal) {
  const int64_t n = 200000;
  const std::vector<float> zeros(static_cast<size_t>(n));
  std::vector<float> y(zeros.size());
  add_noise({}, DType::kF32, {.stddev = 1.0F, .seed = 1, .layer = 2, .step = 3, .first_row = 0}, zeros.data(), 100,
            n / 100, y.data());
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  int64_t within_one = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double v = static_cast<double>(y[i]);
    mean += v;
    square += v * v;
    fourth += v * v * v * v;
    if (i % 2 == 1) neighbours += v * static_cast<double>(y[i - 1]);  // both numbers of a pair
    within_one += std::abs(v) < 1 ? 1 : 0;
  }
  const double count = static_cast<double>(n), five = 5 / std::sqrt(count);  // five standard errors
  EXPECT_NEAR(mean / count, 0, five);
  EXPECT_NEAR(square / count, 1, five * std::sqrt(2.0));
  EXPECT_NEAR(fourth / count, 3, five * std::sqrt(96.0));
  EXPECT_NEAR(neighbours / count * 2, 0, five * std::sqrt(2.0));
  EXPECT_NEAR(static_cast<double>(within_one) / count, 0.682689, five * 0.4655);
}

}  // namespace
}  // namespace dptrain::kernels::cpu
