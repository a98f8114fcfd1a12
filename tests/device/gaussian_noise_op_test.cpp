#include "layers/gaussian_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/random.h"
#include "device/harness.h"
#include "kernels/philox.h"

namespace dptrain::test {
namespace {

/// The number of one element, from the definition: key (seed, stream), counter (row, element / 4, step); Box-Muller in
/// double with the angle in the first quadrant and the signs from two bits.
double normal(std::int64_t row, std::int64_t element) {
  const auto seed = static_cast<std::uint32_t>(kSeed ^ kSeed >> 32);
  const auto stream = static_cast<std::uint32_t>(Purpose::kNoise) + kStreamId;
  const auto counter = static_cast<std::uint32_t>(kFirstRow + row);
  const kernels::PhiloxBlock words = kernels::philox4x32(
      {{counter, static_cast<std::uint32_t>(element / 4), static_cast<std::uint32_t>(kStep), 0}}, {{seed, stream}});
  const auto k = static_cast<std::size_t>(element % 4);
  const std::uint32_t a = words.word[k & 2U], b = words.word[(k & 2U) + 1];
  const double radius = std::sqrt(-2 * std::log((static_cast<double>(a >> 9) + 0.5) * 0x1p-23));
  const double angle = static_cast<double>((b >> 6) & 0xFFFFFFU) * 0x1p-24 * std::numbers::pi / 2;
  const double value = radius * (k % 2 == 0 ? std::cos(angle) : std::sin(angle));
  return (b >> (k % 2 == 0 ? 31 : 30) & 1U) != 0 ? -value : value;
}

void check_noise(float stddev, const Shape& in) {
  Case c;
  c.layer = layer(layers::GaussianNoiseSpec{.stddev = stddev});
  c.inputs = {in};
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    const std::int64_t width = in.elements();
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      y.values[i] += static_cast<double>(stddev) * normal(at / width, at % width);
    }
    return y;
  });
}

TEST(GaussianNoiseOp, Widths) {
  check_noise(0.5F, {3, 5, 7});
  check_noise(1.0F, {129});
  check_noise(0.1F, {64});
}
TEST(GaussianNoiseOp, NothingToAdd) { check_noise(0.0F, {5}); }

}  // namespace
}  // namespace dptrain::test
