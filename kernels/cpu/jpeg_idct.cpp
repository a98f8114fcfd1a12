#include "kernels/cpu/jpeg_idct.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/jpeg_idct.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/jpeg_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// The algorithm of Loeffler, Ligtenberg and Moschytz with constants of 13 bits, in two passes: down the columns, then,
// transposed, along the rows. A vector holds a row of as many blocks as fit; nothing moves between blocks.

inline constexpr int64_t kGroupRow = 32;
inline constexpr int kFirstShift = 13 - 2, kSecondShift = 13 + 2 + 3;
inline constexpr int kMostInFirstRow = 8191;

#if HWY_TARGET != HWY_SCALAR

/// The transform down eight rows; its results are rounded and shifted right.
template <int kShift>
HWY_INLINE void transform(ShortVec* v) {
  // Half of the last place, which rounds, in two factors of 16 bits.
  constexpr int kHigh = kShift > 15 ? 64 : 1, kLow = (1 << (kShift - 1)) / kHigh;
  const ShortVec round = shorts(kHigh);
  const Halves sum = Pairs(hn::Add(v[0], v[4]), round).weigh(8192, kLow),
               difference = Pairs(hn::Sub(v[0], v[4]), round).weigh(8192, kLow);
  const Pairs even(v[2], v[6]);
  const Halves outer = even.weigh(10703, 4433), inner = even.weigh(4433, -10704);
  const Halves e0 = sum + outer, e3 = sum - outer, e1 = difference + inner, e2 = difference - inner;

  const Pairs sums(hn::Add(v[7], v[3]), hn::Add(v[5], v[1]));  // in 16 bits, as others do: they wrap alike
  const Halves z3 = sums.weigh(-6436, 9633), z4 = sums.weigh(9633, 6437);
  const Pairs outside(v[7], v[1]), inside(v[5], v[3]);
  const Halves o0 = outside.weigh(-4927, -7373) + z3, o3 = outside.weigh(-7373, 4926) + z4,
               o1 = inside.weigh(-4176, -20995) + z4, o2 = inside.weigh(-20995, 4177) + z3;

  v[0] = descaled<kShift>(e0 + o3), v[7] = descaled<kShift>(e0 - o3);
  v[1] = descaled<kShift>(e1 + o2), v[6] = descaled<kShift>(e1 - o2);
  v[2] = descaled<kShift>(e2 + o1), v[5] = descaled<kShift>(e2 - o1);
  v[3] = descaled<kShift>(e3 + o0), v[4] = descaled<kShift>(e3 - o0);
}

template <class T>
HWY_INLINE ShortVec interleave_low(ShortVec a, ShortVec b) {
  const hn::Repartition<T, Shorts> d;
  return hn::BitCast(kShorts, hn::InterleaveLower(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}
template <class T>
HWY_INLINE ShortVec interleave_high(ShortVec a, ShortVec b) {
  const hn::Repartition<T, Shorts> d;
  return hn::BitCast(kShorts, hn::InterleaveUpper(d, hn::BitCast(d, a), hn::BitCast(d, b)));
}

/// Rows and columns of each block change places.
HWY_INLINE void transpose_blocks(ShortVec* v) {
  ShortVec a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = interleave_low<int16_t>(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = interleave_high<int16_t>(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      b[4 * i + 2 * k] = interleave_low<int32_t>(a[4 * i + k], a[4 * i + 2 + k]);
      b[4 * i + 2 * k + 1] = interleave_high<int32_t>(a[4 * i + k], a[4 * i + 2 + k]);
    }
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = interleave_low<int64_t>(b[i], b[4 + i]);
    v[2 * i + 1] = interleave_high<int64_t>(b[i], b[4 + i]);
  }
}

bool inverse_dct(const int16_t* coefficients, int64_t groups, const int16_t* steps, uint8_t* out, int64_t stride) {
  const hn::Rebind<uint8_t, Shorts> bytes;
  const ShortVec middle = shorts(128);
  ShortVec most = hn::Zero(kShorts), least = hn::Zero(kShorts);
  for (int64_t group = 0; group < groups; ++group, coefficients += 8 * kGroupRow)
    for (int64_t part = 0; part < kGroupRow; part += kShortLanes) {
      ShortVec v[8];
      for (int r = 0; r < 8; ++r)
        v[r] = hn::Mul(hn::Load(kShorts, coefficients + r * kGroupRow + part),
                       hn::Load(kShorts, steps + r * kGroupRow + part));
      most = hn::Max(most, v[0]), least = hn::Min(least, v[0]);
      transform<kFirstShift>(v);
      transpose_blocks(v);
      transform<kSecondShift>(v);
      transpose_blocks(v);
      uint8_t* const to = out + group * kGroupRow + part;
      for (int r = 0; r < 8; ++r)
        hn::StoreU(hn::DemoteTo(bytes, hn::SaturatedAdd(v[r], middle)), bytes, to + r * stride);
    }
  return hn::AllFalse(kShorts, hn::Gt(most, shorts(kMostInFirstRow))) &&
         hn::AllFalse(kShorts, hn::Lt(least, shorts(-kMostInFirstRow)));
}

#else

/// The same, a column at a time: of elements `step` apart. Sums wrap as those of vectors do.
template <int kShift>
void transform_column(int32_t* v, int64_t step) {
  const auto at = [&](int i) { return int64_t{v[i * step]}; };
  const auto as_short = [](int64_t x) { return int64_t{static_cast<int16_t>(x)}; };
  const auto shifted = [](int64_t x) { return std::clamp(static_cast<int32_t>(x) >> kShift, -32768, 32767); };
  constexpr int64_t kRound = 1 << (kShift - 1);
  const int64_t sum = as_short(at(0) + at(4)) * 8192 + kRound, difference = as_short(at(0) - at(4)) * 8192 + kRound;
  const int64_t outer = at(2) * 10703 + at(6) * 4433, inner = at(2) * 4433 - at(6) * 10704;
  const int64_t even[4] = {sum + outer, difference + inner, difference - inner, sum - outer};
  const int64_t a = as_short(at(7) + at(3)), b = as_short(at(5) + at(1));
  const int64_t z3 = a * -6436 + b * 9633, z4 = a * 9633 + b * 6437;
  const int64_t odd[4] = {at(7) * -7373 + at(1) * 4926 + z4, at(5) * -20995 + at(3) * 4177 + z3,
                          at(5) * -4176 - at(3) * 20995 + z4, at(7) * -4927 - at(1) * 7373 + z3};
  for (int i = 0; i < 4; ++i) {
    v[i * step] = shifted(even[i] + odd[i]);
    v[(7 - i) * step] = shifted(even[i] - odd[i]);
  }
}

bool inverse_dct(const int16_t* coefficients, int64_t groups, const int16_t* steps, uint8_t* out, int64_t stride) {
  bool within = true;
  for (int64_t group = 0; group < groups; ++group, coefficients += 8 * kGroupRow)
    for (int64_t part = 0; part < kGroupRow; part += 8) {
      int32_t v[64];
      for (int64_t r = 0; r < 8; ++r)
        for (int64_t c = 0; c < 8; ++c) {
          const int64_t at = r * kGroupRow + part + c;
          v[r * 8 + c] = static_cast<int16_t>(coefficients[at] * steps[at]);
          within = within && (r > 0 || std::abs(v[c]) <= kMostInFirstRow);
        }
      for (int64_t c = 0; c < 8; ++c) transform_column<kFirstShift>(v + c, 8);
      for (int64_t r = 0; r < 8; ++r) transform_column<kSecondShift>(v + 8 * r, 1);
      for (int64_t r = 0; r < 8; ++r)
        for (int64_t c = 0; c < 8; ++c)
          out[r * stride + group * kGroupRow + part + c] = static_cast<uint8_t>(std::clamp(v[8 * r + c] + 128, 0, 255));
    }
  return within;
}

#endif

bool has_vectors() { return HWY_TARGET != HWY_SCALAR; }

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(inverse_dct);
HWY_EXPORT(has_vectors);

bool jpeg_has_vectors() { return HWY_DYNAMIC_DISPATCH(has_vectors)(); }

bool jpeg_inverse_dct(const int16_t* coefficients, int64_t groups, const int16_t* steps, uint8_t* out, int64_t stride) {
  return HWY_DYNAMIC_DISPATCH(inverse_dct)(coefficients, groups, steps, out, stride);
}

}  // namespace dptrain::kernels::cpu
#endif
