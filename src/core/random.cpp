#include "core/random.h"

#include <cmath>
#include <numbers>

namespace dptrain {

RandomStream::RandomStream(std::uint64_t seed, std::uint32_t purpose, std::uint64_t a, std::uint32_t b)
    : seed_(seed), purpose_(purpose), b_(b), a_(a) {}

std::uint32_t RandomStream::next_u32() {
  if (used_ == 4) {
    // The 64-bit seed and the purpose share the 64-bit key, so one seed gives a different key for every purpose.
    const kernels::PhiloxKey key{
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32) ^ (purpose_ * 0x9E3779B9u)}};
    words_ = kernels::philox4x32({{static_cast<std::uint32_t>(a_), static_cast<std::uint32_t>(a_ >> 32), b_, block_++}},
                                 key);
    used_ = 0;
  }
  return words_.word[used_++];
}

float RandomStream::uniform() { return kernels::philox_uniform(next_u32()); }

std::uint64_t RandomStream::below(std::uint64_t n) {
  // Draws again for values from the largest multiple of n on. It is less than n below the end, so most values need no
  // division.
  constexpr std::uint64_t kMax = ~std::uint64_t{0};
  for (;;) {
    const std::uint64_t high = next_u32();
    const std::uint64_t value = high << 32 | next_u32();
    if (value <= kMax - n || value <= kMax - (kMax % n + 1) % n) return value % n;
  }
}

double RandomStream::normal() {
  const double u = (next_u32() + 0.5) * 0x1p-32;
  const double v = (next_u32() + 0.5) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace dptrain
