// bf16 and half: every number is converted both ways, and rounding is compared with arithmetic in double.

#include "kernels/cuda/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace dptrain::kernels::emu {
namespace {

/// The value of the bits by the definition of the format.
double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t fraction = bits & ((1U << fraction_bits) - 1);
  const int exponent = static_cast<int>((bits >> fraction_bits) & ((1U << exponent_bits) - 1));
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? NAN : sign * HUGE_VAL;
  const double scaled = fraction + (exponent != 0 ? std::ldexp(1, fraction_bits) : 0);
  return sign * std::ldexp(scaled, std::max(exponent, 1) - bias - fraction_bits);
}

struct Bf16 {
  using Number = bf16;
  static double value(std::uint32_t bits) { return value_of(bits, 8, 7); }
};
struct Half {
  using Number = half;
  static double value(std::uint32_t bits) { return value_of(bits, 5, 10); }
};

template <class Format>
class NarrowNumber : public ::testing::Test {};
using Formats = ::testing::Types<Bf16, Half>;
TYPED_TEST_SUITE(NarrowNumber, Formats);

TYPED_TEST(NarrowNumber, EveryNumberThereAndBack) {
  using Number = typename TypeParam::Number;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Number number{static_cast<std::uint16_t>(bits)};
    const double expected = TypeParam::value(bits);
    const float x = to_float(number);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(x)) << bits;
      ASSERT_TRUE(std::isnan(to_float(from_float<Number>(x)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(x), expected) << bits;
    ASSERT_EQ(std::signbit(x), bits >> 15 != 0) << bits;
    ASSERT_EQ(from_float<Number>(x).bits, bits);
  }
}

/// Between two neighbours: the middle rounds to the even one, other values to the nearer one.
TYPED_TEST(NarrowNumber, RoundsToTheNearestAndTiesToEven) {
  using Number = typename TypeParam::Number;
  for (std::uint32_t bits = 0; bits < 32767; ++bits) {
    const double low = TypeParam::value(bits), high = TypeParam::value(bits + 1);
    if (std::isnan(high) || std::isinf(low)) continue;
    // Infinity has the position of the next number.
    const double next = std::isinf(high) ? low + (low - TypeParam::value(bits - 1)) : high;
    const auto middle = static_cast<float>((low + next) / 2);
    if (static_cast<double>(middle) != (low + next) / 2)
      continue;  // no float lies between the smallest numbers of bf16
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const float sign : {1.0F, -1.0F}) {
      const std::uint32_t negative = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(from_float<Number>(sign * middle).bits, negative | even) << bits;
      ASSERT_EQ(from_float<Number>(sign * std::nextafter(middle, 0.0F)).bits, negative | bits) << bits;
      ASSERT_EQ(from_float<Number>(sign * std::nextafter(middle, HUGE_VALF)).bits, negative | (bits + 1)) << bits;
    }
  }
}

TYPED_TEST(NarrowNumber, Extremes) {
  using Number = typename TypeParam::Number;
  const auto through = [](float x) { return to_float(from_float<Number>(x)); };
  EXPECT_TRUE(std::isnan(through(NAN)));
  EXPECT_TRUE(std::isnan(through(std::bit_cast<float>(0x7F800001U))));  // truncation would make its fraction zero
  EXPECT_TRUE(std::isnan(through(std::bit_cast<float>(0xFFFFFFFFU))));
  EXPECT_EQ(through(HUGE_VALF), HUGE_VALF);
  EXPECT_EQ(through(-HUGE_VALF), -HUGE_VALF);
  EXPECT_EQ(through(std::numeric_limits<float>::max()), HUGE_VALF);
  EXPECT_EQ(through(-0.0F), 0.0F);
  EXPECT_TRUE(std::signbit(through(-0.0F)));
}

TEST(Number, DispatchFindsTheType) {
  const auto size = [](DType type) {
    std::size_t bytes = 0;
    dispatch(type, [&](auto tag) { bytes = sizeof(typename decltype(tag)::type); });
    return bytes;
  };
  EXPECT_EQ(size(DType::kF32), 4U);
  EXPECT_EQ(size(DType::kBf16), 2U);
  EXPECT_EQ(size(DType::kF16), 2U);
  EXPECT_THROW(size(DType::kU8), std::invalid_argument);
}

}  // namespace
}  // namespace dptrain::kernels::emu
