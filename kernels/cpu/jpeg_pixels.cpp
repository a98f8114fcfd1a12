#include "kernels/cpu/jpeg_pixels.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/jpeg_pixels.cpp"
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

#if HWY_TARGET != HWY_SCALAR

using ShortBytes = hn::Rebind<uint8_t, Shorts>;  // half a vector
using AllBytes = hn::Repartition<uint8_t, Shorts>;
inline constexpr ShortBytes kShortBytes{};
inline constexpr AllBytes kAllBytes{};
inline constexpr int64_t kByteLanes = 2 * kShortLanes;

HWY_INLINE ShortVec load_samples(const uint8_t* p) { return hn::PromoteTo(kShorts, hn::LoadU(kShortBytes, p)); }

/// Whole vectors go to `out`, the rest by way of a copy.
template <class F>
HWY_INLINE void doubled(int64_t n, uint8_t* out, const F& even_and_odd) {
  int64_t i = 0;
  const auto store = [&](int64_t at, uint8_t* to) HWY_ATTR {
    ShortVec even, odd;
    even_and_odd(at, even, odd);
    hn::StoreInterleaved2(hn::DemoteTo(kShortBytes, even), hn::DemoteTo(kShortBytes, odd), kShortBytes, to);
  };
  for (; i + kShortLanes <= n; i += kShortLanes) store(i, out + 2 * i);
  if (i < n) {
    uint8_t last[2 * kShortLanes];
    store(i, last);
    std::memcpy(out + 2 * i, last, static_cast<size_t>(2 * (n - i)));
  }
}

void double_row(const uint8_t* in, int64_t n, uint8_t* out) {
  doubled(n, out, [&](int64_t i, ShortVec& even, ShortVec& odd) HWY_ATTR {
    const ShortVec here = hn::Mul(load_samples(in + i), shorts(3));
    even = hn::ShiftRight<2>(hn::Add(hn::Add(here, load_samples(in + i - 1)), shorts(1)));
    odd = hn::ShiftRight<2>(hn::Add(hn::Add(here, load_samples(in + i + 1)), shorts(2)));
  });
}

void double_rows(const uint8_t* near, const uint8_t* far, int64_t n, uint8_t* out) {
  const auto between = [&](int64_t i) HWY_ATTR {
    return hn::Add(hn::Mul(load_samples(near + i), shorts(3)), load_samples(far + i));
  };
  doubled(n, out, [&](int64_t i, ShortVec& even, ShortVec& odd) HWY_ATTR {
    const ShortVec here = hn::Mul(between(i), shorts(3));
    even = hn::ShiftRight<4>(hn::Add(hn::Add(here, between(i - 1)), shorts(8)));
    odd = hn::ShiftRight<4>(hn::Add(hn::Add(here, between(i + 1)), shorts(7)));
  });
}

struct Rgb {
  ShortVec r, g, b;
  HWY_INLINE Rgb() = default;
};

/// a x / 2^16, rounded.
HWY_INLINE ShortVec scaled(ShortVec twice, int a) {
  return hn::ShiftRight<1>(hn::Add(hn::MulHigh(twice, shorts(a)), shorts(1)));
}

/// With constants of 16 bits: 1.402 is 1 + 26345 / 2^16, 1.772 is 2 - 14942 / 2^16, 0.34414 is 22554 / 2^16 and 0.71414
/// is 1 - 18734 / 2^16; each sum is rounded once.
HWY_INLINE Rgb rgb_of(ShortVec y, ShortVec cb, ShortVec cr) {
  cb = hn::Sub(cb, shorts(128)), cr = hn::Sub(cr, shorts(128));
  const ShortVec cb2 = hn::Add(cb, cb), cr2 = hn::Add(cr, cr);
  Rgb rgb;
  rgb.r = hn::Add(y, hn::Add(cr, scaled(cr2, 26345)));
  rgb.b = hn::Add(y, hn::Add(cb2, scaled(cb2, -14942)));
  const Halves green = Pairs(cb, cr).weigh(-22554, 18734), half{hn::Set(kLongs, 1 << 15), hn::Set(kLongs, 1 << 15)};
  rgb.g = hn::Add(hn::Sub(y, cr), descaled<16>(green + half));
  return rgb;
}

template <int kChannels>
HWY_INLINE void color_piece(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out) {
  const Rgb low = rgb_of(load_samples(y), load_samples(cb), load_samples(cr));
  const Rgb high =
      rgb_of(load_samples(y + kShortLanes), load_samples(cb + kShortLanes), load_samples(cr + kShortLanes));
  const auto both = [](ShortVec a, ShortVec b) HWY_ATTR {
    return hn::Combine(kAllBytes, hn::DemoteTo(kShortBytes, b), hn::DemoteTo(kShortBytes, a));
  };
  const auto r = both(low.r, high.r), g = both(low.g, high.g), b = both(low.b, high.b);
  if constexpr (kChannels == 3) {
    hn::StoreInterleaved3(r, g, b, kAllBytes, out);
  } else {
    hn::StoreInterleaved4(r, g, b, hn::Set(kAllBytes, uint8_t{255}), kAllBytes, out);
  }
}

template <int kChannels>
HWY_INLINE void color_pieces(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, uint8_t* out) {
  int64_t i = 0;
  for (; i + kByteLanes <= n; i += kByteLanes) color_piece<kChannels>(y + i, cb + i, cr + i, out + kChannels * i);
  if (i < n) {
    uint8_t last[kChannels * kByteLanes];
    color_piece<kChannels>(y + i, cb + i, cr + i, last);
    std::memcpy(out + kChannels * i, last, static_cast<size_t>(kChannels * (n - i)));
  }
}

void color_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, int channels, uint8_t* out) {
  channels == 3 ? color_pieces<3>(y, cb, cr, n, out) : color_pieces<4>(y, cb, cr, n, out);
}

#else

void double_row(const uint8_t* in, int64_t n, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    out[2 * i] = static_cast<uint8_t>((3 * in[i] + in[i - 1] + 1) >> 2);
    out[2 * i + 1] = static_cast<uint8_t>((3 * in[i] + in[i + 1] + 2) >> 2);
  }
}

void double_rows(const uint8_t* near, const uint8_t* far, int64_t n, uint8_t* out) {
  const auto between = [&](int64_t i) { return 3 * near[i] + far[i]; };
  for (int64_t i = 0; i < n; ++i) {
    out[2 * i] = static_cast<uint8_t>((3 * between(i) + between(i - 1) + 8) >> 4);
    out[2 * i + 1] = static_cast<uint8_t>((3 * between(i) + between(i + 1) + 7) >> 4);
  }
}

void color_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, int channels, uint8_t* out) {
  constexpr int kHalf = 1 << 15;
  const auto byte = [](int v) { return static_cast<uint8_t>(std::clamp(v, 0, 255)); };
  for (int64_t i = 0; i < n; ++i, out += channels) {
    const int blue = cb[i] - 128, red = cr[i] - 128;
    out[0] = byte(y[i] + red + ((26345 * red + kHalf) >> 16));
    out[1] = byte(y[i] - red + ((-22554 * blue + 18734 * red + kHalf) >> 16));
    out[2] = byte(y[i] + 2 * blue + ((-14942 * blue + kHalf) >> 16));
    if (channels == 4) out[3] = 255;
  }
}

#endif

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

HWY_EXPORT(double_row);
HWY_EXPORT(double_rows);
HWY_EXPORT(color_row);

void jpeg_double_row(const uint8_t* in, int64_t n, uint8_t* out) { HWY_DYNAMIC_DISPATCH(double_row)(in, n, out); }
void jpeg_double_rows(const uint8_t* near, const uint8_t* far, int64_t n, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(double_rows)(near, far, n, out);
}
void jpeg_color_row(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t n, int channels, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(color_row)(y, cb, cr, n, channels, out);
}

}  // namespace dptrain::kernels::cpu
#endif
