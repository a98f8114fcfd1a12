#pragma once

// Normal random numbers from random bits. Host and CUDA kernels agree up to the last digits of logf, cosf and sinf.

#include <math.h>

#include <cstdint>

#include "kernels/philox.h"

namespace dptrain::kernels {

struct NormalPair {
  float first, second;
};

inline constexpr float kHalfPi = 1.57079632679489662F;

/// Two independent standard normal numbers (Box and Muller, 1958). The upper 23 bits of `a` determine the radius. Bits
/// 6 to 29 of `b` determine the angle in the first quadrant, where it is most exact, bits 31 and 30 the signs. The
/// maximum is 5.8.
DPTRAIN_HOST_DEVICE inline NormalPair normal_pair(uint32_t a, uint32_t b) {
  const float u = (static_cast<float>(a >> 9) + 0.5F) * (1.0F / 8388608.0F);  // in (0, 1), exact
  const float radius = sqrtf(-2.0F * logf(u));
  const float angle = static_cast<float>((b >> 6) & 0xFFFFFFU) * (1.0F / 16777216.0F) * kHalfPi;
  const float x = radius * cosf(angle), y = radius * sinf(angle);
  return {(b & 0x80000000U) != 0 ? -x : x, (b & 0x40000000U) != 0 ? -y : y};
}

}  // namespace dptrain::kernels
