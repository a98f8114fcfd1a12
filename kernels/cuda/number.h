#pragma once

// Number types of activations: float, and for storage only bf16 (bfloat16) and half (IEEE binary16). Rounds to nearest
// even; overflow gives infinity; NaN stays NaN. Host and device convert alike, except for NaN payloads.

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

#ifndef DPTRAIN_HOST_DEVICE
#if defined(__CUDACC__)
#define DPTRAIN_HOST_DEVICE __host__ __device__
#else
#define DPTRAIN_HOST_DEVICE
#endif
#endif

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct bf16 {
  std::uint16_t bits;
};
struct half {
  std::uint16_t bits;
};

namespace number {

template <class To, class From>
DPTRAIN_HOST_DEVICE inline To cast_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

DPTRAIN_HOST_DEVICE inline std::uint16_t bf16_bits(float x) {
#if defined(__CUDA_ARCH__)
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const auto bits = cast_bits<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // quiet NaN, so that the fraction is not zero
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
#endif
}

DPTRAIN_HOST_DEVICE inline float half_value(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
#else
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000U) << 16, rest = std::uint32_t{bits} & 0x7FFFU;
  if (rest >= 0x7C00U) return cast_bits<float>(sign | 0x7F800000U | ((rest & 0x3FFU) << 13));  // infinity, NaN
  // The exponent's bias grows by 112: 2^112 times the bits as a tiny float. Correct for subnormal halves, too.
  constexpr float kTwoTo112 = 5.192296858534827628530496329220096e33F;
  return cast_bits<float>(sign | cast_bits<std::uint32_t>(cast_bits<float>(rest << 13) * kTwoTo112));
#endif
}

DPTRAIN_HOST_DEVICE inline std::uint16_t half_bits(float x) {
#if defined(__CUDA_ARCH__)
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const auto bits = cast_bits<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000U, rest = bits & 0x7FFFFFFFU;
  std::uint32_t result;
  if (rest > 0x7F800000U) {
    result = 0x7E00U | ((rest >> 13) & 0x3FFU);
  } else if (rest >= 0x47800000U) {  // 65536 and above; values from 65520 become infinity below, by carry
    result = 0x7C00U;
  } else if (rest < 0x38800000U) {  // below 2^-14: the last digit of the sum is 2^-24, so the addition rounds
    result = cast_bits<std::uint32_t>(cast_bits<float>(rest) + 0.5F) - 0x3F000000U;
  } else {
    result = (rest - 0x38000000U + 0xFFFU + ((rest >> 13) & 1U)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
#endif
}

}  // namespace number

DPTRAIN_HOST_DEVICE inline float to_float(float x) { return x; }
DPTRAIN_HOST_DEVICE inline float to_float(bf16 x) { return number::cast_bits<float>(std::uint32_t{x.bits} << 16); }
DPTRAIN_HOST_DEVICE inline float to_float(half x) { return number::half_value(x.bits); }

template <class T>
DPTRAIN_HOST_DEVICE inline T from_float(float x);
template <>
DPTRAIN_HOST_DEVICE inline float from_float<float>(float x) {
  return x;
}
template <>
DPTRAIN_HOST_DEVICE inline bf16 from_float<bf16>(float x) {
  return {number::bf16_bits(x)};
}
template <>
DPTRAIN_HOST_DEVICE inline half from_float<half>(float x) {
  return {number::half_bits(x)};
}

template <class T>
struct Type {
  using type = T;
};

/// Calls f(Type<T>{}) with the T of `type`:
///
///   dispatch(type, [&](auto tag) {
///     using T = typename decltype(tag)::type;
///     DPTRAIN_LAUNCH_FLAT(at, copy_kernel<T>, ...);
///   });
template <class F>
void dispatch(DType type, F&& f) {
  switch (type) {
    case DType::kF32: return f(Type<float>{});
    case DType::kBf16: return f(Type<bf16>{});
    case DType::kF16: return f(Type<half>{});
    default:
      throw std::invalid_argument("kernels take float32, bfloat16 or float16, found " + std::string(name_of(type)));
  }
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
