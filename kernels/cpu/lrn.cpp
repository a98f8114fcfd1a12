#include "kernels/cpu/lrn.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_LRN_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_LRN_ONCE
namespace dptrain::kernels::cpu {
inline constexpr int64_t kLrnPixels = 8;
}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/lrn.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// scale^-beta, and scale^-beta / scale. The usual exponents avoid the logarithm, root and division, which would
// dominate: Newton's method refines an estimate of the inverse root. Each step doubles the digits: one from the 14 bits
// of AVX-512, two from the 8 or 12 bits of others.

inline constexpr int kNewtonSteps = HWY_TARGET <= HWY_AVX3 ? 1 : 2;

struct Powers {
  Vec power, over_scale;
};

HWY_INLINE Vec half(Vec v) { return hn::Mul(v, splat(0.5F)); }

/// scale^-1/2: r <- r (3 - s r^2) / 2.
HWY_INLINE Vec inverse_root(Vec scale) {
  Vec r = hn::ApproximateReciprocalSqrt(scale);
  for (int step = 0; step < kNewtonSteps; ++step)
    r = hn::Mul(half(r), hn::NegMulAdd(hn::Mul(scale, r), r, splat(3.0F)));
  return r;
}

/// 1 / scale, refined from the estimate `near`.
HWY_INLINE Vec inverse(Vec scale, Vec near) { return hn::Mul(near, hn::NegMulAdd(scale, near, splat(2.0F))); }

struct PowerHalf {
  HWY_INLINE Vec operator()(Vec scale) const { return inverse_root(scale); }
  HWY_INLINE Powers both(Vec scale) const {
    const Vec r = inverse_root(scale);
    return {r, hn::Mul(r, inverse(scale, hn::Mul(r, r)))};
  }
};

struct PowerThreeQuarters {
  HWY_INLINE Vec operator()(Vec scale) const { return both(scale).power; }
  /// With r = scale^-1/2: scale^-3/4 = r^2 r^-1/2 = r root(r), where root(r) = r inverse_root(r).
  HWY_INLINE Powers both(Vec scale) const {
    const Vec r = inverse_root(scale), p = hn::Mul(hn::Mul(r, r), inverse_root(r));
    return {p, hn::Mul(p, inverse(scale, hn::Mul(r, r)))};
  }
};

struct PowerOne {
  HWY_INLINE Vec operator()(Vec scale) const { return hn::Div(splat(1.0F), scale); }
  HWY_INLINE Powers both(Vec scale) const {
    const Vec p = (*this)(scale);
    return {p, hn::Mul(p, p)};
  }
};

struct PowerAny {
  Vec beta;
  /// e^(-beta ln scale); the exponent is clamped to the range of Highway's Exp.
  HWY_INLINE Vec operator()(Vec scale) const {
    const Vec exponent = hn::Neg(hn::Mul(beta, log_of_positive(scale)));
    return keep_nan(exponent, hn::Exp(kFloats, hn::Min(exponent, splat(88.0F))));
  }
  HWY_INLINE Powers both(Vec scale) const {
    const Vec p = (*this)(scale);
    return {p, hn::Div(p, scale)};
  }
};

template <class F>
HWY_INLINE void with_power(float beta, const F& f) {
  if (beta == 0.5F) return f(PowerHalf{});
  if (beta == 0.75F) return f(PowerThreeQuarters{});
  if (beta == 1.0F) return f(PowerOne{});
  f(PowerAny{splat(beta)});
}

/// Channels of some pixels, padded with `radius` zeros on both sides, and a second row of channels for each. Windows
/// are read only after the following rows are written: a load that spans two recent stores would stall.
struct Rows {
  float* padded;
  float* plain;
  int64_t channels, radius;

  Rows(float* workspace, int64_t row_channels, int64_t window_radius)
      : padded(workspace),
        plain(workspace + kLrnPixels * (row_channels + 2 * window_radius)),
        channels(row_channels),
        radius(window_radius) {
    std::memset(workspace, 0, static_cast<size_t>(kLrnPixels * (channels + 2 * radius)) * sizeof(float));
  }
  HWY_INLINE float* window_row(int64_t pixel) const { return padded + pixel * (channels + 2 * radius); }
  HWY_INLINE float* inner(int64_t pixel) const { return window_row(pixel) + radius; }
  HWY_INLINE float* plain_row(int64_t pixel) const { return plain + pixel * channels; }

  template <class Io>
  HWY_INLINE Vec window(int64_t pixel, int64_t c, Io io) const {
    const float* const row = window_row(pixel) + c;
    Vec sum = io.load(row);
    for (int64_t k = 1; k <= 2 * radius; ++k) sum = hn::Add(sum, io.load(row + k));
    return sum;
  }
};

/// Calls f(index of the pixel in Rows, offset in the arrays) for the pixels of the block that begins at `first`.
template <class F>
HWY_INLINE void for_pixels(int64_t first, int64_t pixels, int64_t channels, const F& f) {
  for (int64_t p = 0; p < std::min(kLrnPixels, pixels - first); ++p) f(p, (first + p) * channels);
}

HWY_INLINE void square_pixels(const Rows& rows, const float* x, int64_t first, int64_t pixels) {
  for_pixels(first, pixels, rows.channels, [&](int64_t p, int64_t at) HWY_ATTR {
    map(
        rows.channels, rows.inner(p), [](Vec v) HWY_ATTR { return hn::Mul(v, v); }, x + at);
  });
}

template <class Io>
HWY_INLINE Vec scale_of(const Lrn& lrn, const Rows& rows, int64_t pixel, int64_t c, Io io) {
  return hn::MulAdd(splat(lrn.alpha), rows.window(pixel, c, io), splat(lrn.bias));
}

void lrn_forward_piece(const Lrn& lrn, const float* x, int64_t pixels, int64_t channels, float* workspace, float* y,
                       float* kept) {
  const Rows rows(workspace, channels, lrn.radius);
  with_power(lrn.beta, [&](const auto& power) HWY_ATTR {
    for (int64_t first = 0; first < pixels; first += kLrnPixels) {
      square_pixels(rows, x, first, pixels);
      for_pixels(first, pixels, channels, [&](int64_t p, int64_t at) HWY_ATTR {
        sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
          const Vec scale = scale_of(lrn, rows, p, c, io);
          if (kept != nullptr) io.store(scale, kept + at + c);
          io.store(hn::Mul(io.load(x + at + c), power(scale)), y + at + c);
        });
      });
    }
  });
}

/// dx[i] = dy[i] s[i]^-beta - 2 alpha beta x[i] sum over the window of dy[j] x[j] s[j]^(-beta - 1).
void lrn_backward_piece(const Lrn& lrn, const float* x, const float* kept, const float* dy, int64_t pixels,
                        int64_t channels, float* workspace, float* dx) {
  const Rows rows(workspace, channels, lrn.radius);
  const Vec factor = splat(-2.0F * lrn.alpha * lrn.beta);
  with_power(lrn.beta, [&](const auto& power) HWY_ATTR {
    for (int64_t first = 0; first < pixels; first += kLrnPixels) {
      if (kept == nullptr) {
        square_pixels(rows, x, first, pixels);
        for_pixels(first, pixels, channels, [&](int64_t p, int64_t) HWY_ATTR {
          sweep(channels,
                [&](int64_t c, auto io) HWY_ATTR { io.store(scale_of(lrn, rows, p, c, io), rows.plain_row(p) + c); });
        });
      }
      for_pixels(first, pixels, channels, [&](int64_t p, int64_t at) HWY_ATTR {
        const float* const scale = kept == nullptr ? rows.plain_row(p) : kept + at;
        sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
          const Powers s = power.both(io.load(scale + c));
          io.store(hn::Mul(hn::Mul(io.load(dy + at + c), io.load(x + at + c)), s.over_scale), rows.inner(p) + c);
          io.store(s.power, rows.plain_row(p) + c);
        });
      });
      for_pixels(first, pixels, channels, [&](int64_t p, int64_t at) HWY_ATTR {
        sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
          const Vec own = hn::Mul(io.load(dy + at + c), io.load(rows.plain_row(p) + c));
          io.store(hn::MulAdd(hn::Mul(factor, io.load(x + at + c)), rows.window(p, c, io), own), dx + at + c);
        });
      });
    }
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(lrn_forward_piece);
HWY_EXPORT(lrn_backward_piece);

namespace {

/// A radius beyond the number of channels sums over all channels.
Lrn within(Lrn lrn, int64_t channels) {
  lrn.radius = std::min(lrn.radius, channels);
  return lrn;
}

int64_t floats_per_piece(const Lrn& lrn, int64_t channels) { return kLrnPixels * 2 * (channels + lrn.radius); }

}  // namespace

int64_t lrn_workspace(const Lrn& lrn, int64_t pixels, int64_t channels) {
  return pieces_of(pixels, rows_per_partial(pixels, channels)) * floats_per_piece(within(lrn, channels), channels);
}

void lrn_forward(const Lrn& lrn, const float* x, int64_t pixels, int64_t channels, float* workspace, float* y,
                 float* scale) {
  const Lrn inner = within(lrn, channels);
  const int64_t size = rows_per_partial(pixels, channels);
  parallel_ranges(pixels, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(lrn_forward_piece)
    (inner, x + begin * channels, end - begin, channels, workspace + begin / size * floats_per_piece(inner, channels),
     y + begin * channels, scale == nullptr ? nullptr : scale + begin * channels);
  });
}

void lrn_backward(const Lrn& lrn, const float* x, const float* scale, const float* dy, int64_t pixels, int64_t channels,
                  float* workspace, float* dx) {
  const Lrn inner = within(lrn, channels);
  const int64_t size = rows_per_partial(pixels, channels);
  parallel_ranges(pixels, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(lrn_backward_piece)
    (inner, x + begin * channels, scale == nullptr ? nullptr : scale + begin * channels, dy + begin * channels,
     end - begin, channels, workspace + begin / size * floats_per_piece(inner, channels), dx + begin * channels);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
