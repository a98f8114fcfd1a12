#include "kernels/cpu/lrn.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/lrn.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// scale^-beta. The usual exponents need no logarithm.

struct PowerHalf {
  HWY_INLINE Vec operator()(Vec scale) const { return hn::Div(splat(1.0F), hn::Sqrt(scale)); }
};

struct PowerThreeQuarters {
  HWY_INLINE Vec operator()(Vec scale) const {
    const Vec root = hn::Sqrt(scale);
    return hn::Div(splat(1.0F), hn::Mul(root, hn::Sqrt(root)));
  }
};

struct PowerOne {
  HWY_INLINE Vec operator()(Vec scale) const { return hn::Div(splat(1.0F), scale); }
};

struct PowerAny {
  Vec beta;
  /// e^(-beta ln scale); the exponent is clamped to what Highway's exp knows.
  HWY_INLINE Vec operator()(Vec scale) const {
    const Vec exponent = hn::Neg(hn::Mul(beta, log_of_positive(scale)));
    return keep_nan(exponent, hn::Exp(kFloats, hn::Min(exponent, splat(88.0F))));
  }
};

template <class F>
HWY_INLINE void with_power(float beta, const F& f) {
  if (beta == 0.5F) return f(PowerHalf{});
  if (beta == 0.75F) return f(PowerThreeQuarters{});
  if (beta == 1.0F) return f(PowerOne{});
  f(PowerAny{splat(beta)});
}

/// A pixel's channels with `radius` zeros on either side, and a second row of channels.
struct Rows {
  float* padded;
  float* plain;
  int64_t radius;

  Rows(float* workspace, int64_t channels, int64_t window_radius)
      : padded(workspace), plain(workspace + channels + 2 * window_radius), radius(window_radius) {
    std::memset(workspace, 0, static_cast<size_t>(channels + 2 * radius) * sizeof(float));
  }
  HWY_INLINE float* inner() const { return padded + radius; }

  /// Sum over the window around channel c.
  template <class Io>
  HWY_INLINE Vec window(int64_t c, Io io) const {
    Vec sum = io.load(padded + c);
    for (int64_t k = 1; k <= 2 * radius; ++k) sum = hn::Add(sum, io.load(padded + c + k));
    return sum;
  }
};

HWY_INLINE void scale_of_pixel(const Lrn& lrn, const Rows& rows, const float* x, int64_t channels, float* scale) {
  map(
      channels, rows.inner(), [](Vec v) HWY_ATTR { return hn::Mul(v, v); }, x);
  const Vec alpha = splat(lrn.alpha), bias = splat(lrn.bias);
  sweep(channels,
        [&](int64_t c, auto io) HWY_ATTR { io.store(hn::MulAdd(alpha, rows.window(c, io), bias), scale + c); });
}

void lrn_forward_piece(const Lrn& lrn, const float* x, int64_t pixels, int64_t channels, float* workspace, float* y,
                       float* kept) {
  const Rows rows(workspace, channels, lrn.radius);
  with_power(lrn.beta, [&](const auto& power) HWY_ATTR {
    for (int64_t at = 0; at < pixels * channels; at += channels) {
      float* scale = kept == nullptr ? rows.plain : kept + at;
      scale_of_pixel(lrn, rows, x + at, channels, scale);
      map(
          channels, y + at, [&](Vec v, Vec s) HWY_ATTR { return hn::Mul(v, power(s)); }, x + at, scale);
    }
  });
}

/// dx[i] = dy[i] s[i]^-beta - 2 alpha beta x[i] sum over the window of dy[j] x[j] s[j]^(-beta - 1).
void lrn_backward_piece(const Lrn& lrn, const float* x, const float* kept, const float* dy, int64_t pixels,
                        int64_t channels, float* workspace, float* dx) {
  const Rows rows(workspace, channels, lrn.radius);
  const Vec factor = splat(-2.0F * lrn.alpha * lrn.beta);
  with_power(lrn.beta, [&](const auto& power) HWY_ATTR {
    for (int64_t at = 0; at < pixels * channels; at += channels) {
      const float* scale = kept == nullptr ? rows.plain : kept + at;
      if (kept == nullptr) scale_of_pixel(lrn, rows, x + at, channels, rows.plain);
      sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
        const Vec s = io.load(scale + c), p = power(s);
        const Vec spread = hn::Div(hn::Mul(hn::Mul(io.load(dy + at + c), io.load(x + at + c)), p), s);
        io.store(spread, rows.inner() + c);
        io.store(p, rows.plain + c);
      });
      sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
        const Vec own = hn::Mul(io.load(dy + at + c), io.load(rows.plain + c));
        io.store(hn::MulAdd(hn::Mul(factor, io.load(x + at + c)), rows.window(c, io), own), dx + at + c);
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

/// A window wider than the channels on both sides sums over all of them.
Lrn within(Lrn lrn, int64_t channels) {
  lrn.radius = std::min(lrn.radius, channels);
  return lrn;
}

int64_t floats_per_piece(const Lrn& lrn, int64_t channels) { return 2 * (channels + lrn.radius); }

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
