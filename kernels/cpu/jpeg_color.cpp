#include "kernels/cpu/jpeg_color.h"

#include <algorithm>

#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/jpeg_color.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/jpeg_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

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
