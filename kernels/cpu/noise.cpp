#include "kernels/cpu/noise.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/normal_pair.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/noise.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/philox-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Converts integers below 2^24 to floats.
HWY_INLINE Vec as_floats(WordVec words) { return hn::ConvertTo(kFloats, hn::BitCast(kInts, words)); }

/// v with the sign of the word's highest bit.
HWY_INLINE Vec with_sign(Vec v, WordVec word) {
  const Words words;
  const WordVec sign = hn::And(word, hn::Set(words, 0x80000000U));
  return hn::BitCast(kFloats, hn::Xor(hn::BitCast(words, v), sign));
}

/// normal_pair of kernels/normal_pair.h in every lane.
HWY_INLINE void normal_lanes(WordVec a, WordVec b, Vec& first, Vec& second) {
  const Words words;
  const Vec u = hn::Mul(hn::Add(as_floats(hn::ShiftRight<9>(a)), splat(0.5F)), splat(1.0F / 8388608.0F));
  const Vec radius = hn::Sqrt(hn::Mul(splat(-2.0F), log_of_positive(u)));
  const WordVec bits = hn::And(hn::ShiftRight<6>(b), hn::Set(words, 0xFFFFFFU));
  const Vec angle = hn::Mul(hn::Mul(as_floats(bits), splat(1.0F / 16777216.0F)), splat(kHalfPi));
  first = with_sign(hn::Mul(radius, hn::Cos(kFloats, angle)), b);
  second = with_sign(hn::Mul(radius, hn::Sin(kFloats, angle)), hn::ShiftLeft<1>(b));
}

/// Elements [i, i + 4 kLanes) of a row; x and y point at element i. kMultiplies: x (1 + stddev n), else x + stddev n.
template <bool kMultiplies>
HWY_INLINE void noise_groups(const Noise& noise, uint32_t row, int64_t i, const float* x, float* y) {
  const Words words;
  WordVec c[4] = {hn::Set(words, row), hn::Iota(words, static_cast<uint32_t>(i / 4)),
                  hn::Set(words, static_cast<uint32_t>(noise.step)),
                  hn::Set(words, static_cast<uint32_t>(noise.step >> 32))};
  philox_lanes(c, noise.seed, noise.layer);
  Vec n0, n1, n2, n3, v0, v1, v2, v3;
  normal_lanes(c[0], c[1], n0, n1);
  normal_lanes(c[2], c[3], n2, n3);
  hn::LoadInterleaved4(kFloats, x, v0, v1, v2, v3);
  const Vec stddev = splat(noise.stddev);
  const auto noisy = [stddev](Vec n, Vec v) HWY_ATTR { return hn::MulAdd(kMultiplies ? hn::Mul(n, v) : n, stddev, v); };
  hn::StoreInterleaved4(noisy(n0, v0), noisy(n1, v1), noisy(n2, v2), noisy(n3, v3), kFloats, y);
}

template <bool kMultiplies>
HWY_INLINE void noise_line(const Noise& noise, int64_t row, const float* x, int64_t width, float* y) {
  const uint32_t counter_row = static_cast<uint32_t>(noise.first_row + row);
  int64_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) noise_groups<kMultiplies>(noise, counter_row, i, x + i, y + i);
  if (i == width) return;
  float rest[4 * kLanes] = {};
  const size_t bytes = static_cast<size_t>(width - i) * sizeof(float);
  std::memcpy(rest, x + i, bytes);
  noise_groups<kMultiplies>(noise, counter_row, i, rest, rest);
  std::memcpy(y + i, rest, bytes);
}

void add_noise_row(const Noise& noise, int64_t row, const float* x, int64_t width, float* y) {
  noise_line<false>(noise, row, x, width, y);
}
void multiply_noise_row(const Noise& noise, int64_t row, const float* x, int64_t width, float* y) {
  noise_line<true>(noise, row, x, width, y);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(add_noise_row);
HWY_EXPORT(multiply_noise_row);

void add_noise(const Launch&, DType, const Noise& noise, const float* x, int64_t rows, int64_t width, float* y) {
  parallel_ranges(rows, rows_per_piece(8 * width),  // 8: a random number costs more than a copy
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row)
                      HWY_DYNAMIC_DISPATCH(add_noise_row)(noise, row, x + row * width, width, y + row * width);
                  });
}

void multiply_noise(const Launch&, DType, const Noise& noise, const float* x, int64_t rows, int64_t width, float* y) {
  parallel_ranges(rows, rows_per_piece(8 * width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      HWY_DYNAMIC_DISPATCH(multiply_noise_row)(noise, row, x + row * width, width, y + row * width);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
