#include "kernels/cpu/noise.h"

#include <gtest/gtest.h>

#include <numbers>

#include "kernels/normal_pair.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

double drawn(const Noise& n, int64_t row, int64_t element) {
  const PhiloxBlock block = philox4x32({{static_cast<uint32_t>(n.first_row + row), static_cast<uint32_t>(element / 4),
                                         static_cast<uint32_t>(n.step), static_cast<uint32_t>(n.step >> 32)}},
                                       {{n.seed, n.layer}});
  const int64_t first = element % 4 / 2 * 2;
  const NormalPair pair = normal_pair(block.word[first], block.word[first + 1]);
  return static_cast<double>(element % 2 == 0 ? pair.first : pair.second);
}

TEST(Noise, FollowsPhilox) {
  const Noise noise{.stddev = 0.4F, .seed = 17, .layer = 3, .step = (uint64_t{5} << 32) + 9, .first_row = 1000};
  for (const auto& shape : {std::pair<int64_t, int64_t>{3, 5}, {7, 64}, {2, 1027}, {300, 130}}) {
    const int64_t rows = shape.first, width = shape.second;
    const std::vector<float> x = random_floats(rows * width, 1);
    std::vector<double> expected;
    for (int64_t i = 0; i < rows * width; ++i) expected.push_back(at(x, i) + 0.4 * drawn(noise, i / width, i % width));
    // A few last places of numbers up to 6.
    agrees(expected, 1e-6, 2e-6,
           [&] { return written_floats(rows * width, [&](float* y) { add_noise(noise, x.data(), rows, width, y); }); });
    agrees(expected, 1e-6, 2e-6, [&] {
      std::vector<float> in_place = x;
      add_noise(noise, in_place.data(), rows, width, in_place.data());
      return in_place;
    });
  }
}

TEST(Noise, ASliceOfTheBatchGetsWhatTheWholeBatchGets) {
  const int64_t width = 70;
  const std::vector<float> x = random_floats(10 * width, 2);
  const Noise whole{.stddev = 0.5F, .seed = 1, .layer = 2, .step = 3, .first_row = 40};
  std::vector<float> all(x.size()), slice(static_cast<size_t>(4 * width));
  add_noise(whole, x.data(), 10, width, all.data());
  Noise part = whole;
  part.first_row = 46;
  add_noise(part, x.data() + 6 * width, 4, width, slice.data());
  EXPECT_EQ(slice, std::vector<float>(all.begin() + 6 * width, all.end()));
}

TEST(Noise, IsNormal) {
  const int64_t n = 200000;
  const std::vector<float> zeros(static_cast<size_t>(n));
  std::vector<float> y(zeros.size());
  add_noise({.stddev = 1.0F, .seed = 1, .layer = 2, .step = 3, .first_row = 0}, zeros.data(), 100, n / 100, y.data());
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  int64_t within_one = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double v = static_cast<double>(y[i]);
    mean += v;
    square += v * v;
    fourth += v * v * v * v;
    if (i % 2 == 1) neighbours += v * static_cast<double>(y[i - 1]);  // the two of a pair
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
