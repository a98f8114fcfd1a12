#pragma once

// Normal random numbers from random words, the same on host and in CUDA kernels up to the last places of logf, cosf and
// sinf. Header-only, plain functions.

#include <math.h>

#include <cstdint>

#include "kernels/philox.h"

namespace dptrain::kernels {

struct NormalPair {
  float first, second;
};

inline constexpr float kHalfPi = 1.57079632679489662F;

/// Two independent standard normal numbers (Box and Muller, 1958) from two random words: the radius from the upper 23
/// bits of `a`; from `b` the angle in the first quadrant (bits 6 to 29), where it is most exact, and the two signs
/// (bits 31 and 30), which stand for the other quadrants. The largest is 5.8.
DPTRAIN_HOST_DEVICE inline NormalPair normal_pair(uint32_t a, uint32_t b) {
  const float u = (static_cast<float>(a >> 9) + 0.5F) * (1.0F / 8388608.0F);  // in (0, 1), exact
  const float radius = sqrtf(-2.0F * logf(u));
  const float angle = static_cast<float>((b >> 6) & 0xFFFFFFU) * (1.0F / 16777216.0F) * kHalfPi;
  const float x = radius * cosf(angle), y = radius * sinf(angle);
  return {(b & 0x80000000U) != 0 ? -x : x, (b & 0x40000000U) != 0 ? -y : y};
}

}  // namespace dptrain::kernels
