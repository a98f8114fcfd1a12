#pragma once

// The normal numbers of noise layers.

#include <cmath>
#include <numbers>

#include "backend/harness.h"
#include "core/random.h"
#include "kernels/philox.h"

namespace dptrain::test {

/// The number of one element: key (seed, stream), counter (row, element / 4, step). Box-Muller in double with the angle
/// in the first quadrant and the signs from two bits.
inline double normal(std::int64_t row, std::int64_t element) {
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

}  // namespace dptrain::test
