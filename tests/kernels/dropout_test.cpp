#include "kernels/cpu/dropout.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/draws.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

bool kept(const Dropout& d, int64_t row, int64_t element) {
  return philox_uniform(test::words_of(d, row, element).word[element % 4]) >= d.rate;
}

TEST(Dropout, FollowsPhilox) {
  const Dropout dropout{.rate = 0.4F, .seed = 17, .layer = 3, .step = (uint64_t{5} << 32) + 9, .first_row = 1000};
  test::follows_philox<Dropout>(
      dropout, 0.0, dropout_forward, dropout_backward,
      [&](double value, int64_t row, int64_t element) { return kept(dropout, row, element) ? value / 0.6 : 0.0; });
}

TEST(Dropout, OfWholeChannels) {
  const Dropout dropout{.rate = 0.4F, .seed = 17, .layer = 3, .step = 9, .first_row = 1000};
  for (const auto& [rows, positions, channels] :
       {std::array<int64_t, 3>{3, 5, 7}, {2, 1, 64}, {700, 9, 3}, {5, 6, 130}}) {
    const int64_t n = rows * positions * channels;
    std::vector<float> x = random_floats(n, 1);
    x[0] = std::numeric_limits<float>::infinity();  // a dropped infinity is zero
    std::vector<double> expected;
    for (int64_t i = 0; i < n; ++i)
      expected.push_back(kept(dropout, i / (positions * channels), i % channels) ? at(x, i) / 0.6 : 0.0);
    agrees(expected, 1e-6, 0.0, [&] {
      std::vector<float> factors(static_cast<size_t>(rows * channels));
      return written_floats(n, [&](float* y) {
        spatial_dropout({}, DType::kF32, dropout, x.data(), rows, positions, channels, factors.data(), y);
      });
    });
  }
}

TEST(Dropout, ASliceDropsTheSameElementsAsTheBatch) {
  test::slice_draws_as_the_batch<Dropout>({.rate = 0.5F, .seed = 1, .layer = 2, .step = 3, .first_row = 40},
                                          dropout_forward);
}

TEST(Dropout, KeepsTheExpectedShareAndUsesEveryKey) {
  const int64_t n = 40000;
  const std::vector<float> ones(static_cast<size_t>(n), 1.0F);
  const auto mask = [&](const Dropout& d) {
    std::vector<float> y(ones.size());
    dropout_forward({}, DType::kF32, d, ones.data(), 100, n / 100, y.data());
    return y;
  };
  const Dropout base{.rate = 0.25F, .seed = 1, .layer = 2, .step = 3, .first_row = 0};
  const std::vector<float> y = mask(base);
  const double dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0F)) / static_cast<double>(n);
  EXPECT_NEAR(dropped, 0.25, 5.0 * std::sqrt(0.25 * 0.75 / static_cast<double>(n)));
  for (const auto change :
       {+[](Dropout& d) { ++d.seed; }, +[](Dropout& d) { ++d.layer; }, +[](Dropout& d) { ++d.step; },
        +[](Dropout& d) { d.step += uint64_t{1} << 32; }, +[](Dropout& d) { ++d.first_row; }}) {
    Dropout other = base;
    change(other);
    EXPECT_NE(mask(other), y);
  }
  Dropout nothing = base;
  nothing.rate = 0.0F;
  EXPECT_EQ(mask(nothing), ones);
}

}  // namespace
}  // namespace dptrain::kernels::cpu
