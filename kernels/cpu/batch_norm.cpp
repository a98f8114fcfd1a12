#include "kernels/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Positions that are read twice, for their mean and then for their differences from it: 16 KiB, so that the second
/// time they come from the first-level cache.
inline int64_t block_positions(int64_t channels) { return std::max<int64_t>(8, 4096 / channels); }

/// Puts the moments of `count` positions into those of the `before` earlier ones, for a vector of channels.
template <class Io>
HWY_INLINE void merge(Vec mean, Vec m2, int64_t count, int64_t before, Io io, float* means, float* m2s) {
  const float total = static_cast<float>(before + count);
  const Vec weight = splat(static_cast<float>(count) / total);
  const Vec cross = splat(static_cast<float>(before) * (static_cast<float>(count) / total));
  const Vec old_mean = io.load(means), delta = hn::Sub(mean, old_mean);
  io.store(hn::MulAdd(delta, weight, old_mean), means);
  io.store(hn::MulAdd(hn::Mul(delta, delta), cross, hn::Add(io.load(m2s), m2)), m2s);
}

void moments_piece(const float* x, int64_t positions, int64_t channels, float* means, float* m2s) {
  std::fill_n(means, channels, 0.0F);
  std::fill_n(m2s, channels, 0.0F);
  const int64_t size = block_positions(channels);
  for (int64_t begin = 0; begin < positions; begin += size) {
    const int64_t count = std::min(size, positions - begin);
    const Vec share = splat(1.0F / static_cast<float>(count));
    sweep_columns(channels, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      const float* first = x + begin * channels + c;
      Vec mean[kVectors], m2[kVectors];
      for (int k = 0; k < kVectors; ++k) mean[k] = m2[k] = hn::Zero(kFloats);
      for (int64_t i = 0; i < count; ++i)
        for (int k = 0; k < kVectors; ++k) mean[k] = hn::Add(mean[k], io.load(first + i * channels + k * kLanes));
      for (int k = 0; k < kVectors; ++k) mean[k] = hn::Mul(mean[k], share);
      for (int64_t i = 0; i < count; ++i) {
        for (int k = 0; k < kVectors; ++k) {
          const Vec d = hn::Sub(io.load(first + i * channels + k * kLanes), mean[k]);
          m2[k] = hn::MulAdd(d, d, m2[k]);
        }
      }
      for (int k = 0; k < kVectors; ++k)
        merge(mean[k], m2[k], count, begin, io, means + c + k * kLanes, m2s + c + k * kLanes);
    });
  }
}

void apply_piece(const float* x, const float* scale, const float* offset, int64_t positions, int64_t channels,
                 bool relu, float* y) {
  for (int64_t at = 0; at < positions * channels; at += channels) {
    if (relu) {
      map(
          channels, y + at,
          [](Vec v, Vec a, Vec b) HWY_ATTR {
            const Vec normal = hn::MulAdd(v, a, b);
            return hn::IfThenZeroElse(hn::Le(normal, hn::Zero(kFloats)), normal);  // NaN passes
          },
          x + at, scale, offset);
    } else {
      map(
          channels, y + at, [](Vec v, Vec a, Vec b) HWY_ATTR { return hn::MulAdd(v, a, b); }, x + at, scale, offset);
    }
  }
}

/// dy at element `at`, zero where the ReLU after the normalisation let nothing through.
template <class Io>
HWY_INLINE Vec masked_dy(const BatchNormGradient& g, int64_t at, Io io) {
  const Vec dy = io.load(g.dy + at);
  return g.output == nullptr ? dy : where_positive(io.load(g.output + at), dy);
}

/// Sums over positions [begin, end): sum_dy[c], and sum_dy_xhat[c] still without the factor inv_std.
void gradient_sums_piece(const BatchNormGradient& g, int64_t begin, int64_t end, int64_t channels, float* sum_dy,
                         float* sum_dy_xhat) {
  constexpr int64_t kChain = 256;  // as in column_sums: the longest chain of additions
  std::fill_n(sum_dy, channels, 0.0F);
  std::fill_n(sum_dy_xhat, channels, 0.0F);
  for (int64_t first = begin; first < end; first += kChain) {
    const int64_t last = std::min(end, first + kChain);
    sweep_columns(channels, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      Vec sum[kVectors], product[kVectors], mean[kVectors];
      for (int k = 0; k < kVectors; ++k) {
        sum[k] = product[k] = hn::Zero(kFloats);
        mean[k] = io.load(g.mean + c + k * kLanes);
      }
      for (int64_t position = first; position < last; ++position) {
        for (int k = 0; k < kVectors; ++k) {
          const int64_t at = position * channels + c + k * kLanes;
          const Vec dy = masked_dy(g, at, io);
          sum[k] = hn::Add(sum[k], dy);
          product[k] = hn::MulAdd(dy, hn::Sub(io.load(g.x + at), mean[k]), product[k]);
        }
      }
      for (int k = 0; k < kVectors; ++k) {
        float* out = sum_dy + c + k * kLanes;
        float* out_xhat = sum_dy_xhat + c + k * kLanes;
        io.store(hn::Add(io.load(out), sum[k]), out);
        io.store(hn::Add(io.load(out_xhat), product[k]), out_xhat);
      }
    });
  }
}

void gradient_apply_piece(const BatchNormGradient& g, const float* gamma, const float* sum_dy, const float* sum_dy_xhat,
                          int64_t total, int64_t begin, int64_t end, int64_t channels, float* dx) {
  const Vec share = splat(1.0F / static_cast<float>(total));
  for (int64_t position = begin; position < end; ++position) {
    sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
      const int64_t at = position * channels + c;
      const Vec inv_std = io.load(g.inv_std + c);
      const Vec xhat = hn::Mul(hn::Sub(io.load(g.x + at), io.load(g.mean + c)), inv_std);
      const Vec common = hn::MulAdd(xhat, io.load(sum_dy_xhat + c), io.load(sum_dy + c));
      const Vec scale = gamma == nullptr ? inv_std : hn::Mul(io.load(gamma + c), inv_std);
      io.store(hn::Mul(scale, hn::NegMulAdd(common, share, masked_dy(g, at, io))), dx + at);
    });
  }
}

void gradient_frozen_piece(const float* dy, const float* output, const float* scale, int64_t begin, int64_t end,
                           int64_t channels, float* dx) {
  const BatchNormGradient g{nullptr, dy, output, nullptr, nullptr};
  for (int64_t at = begin * channels; at < end * channels; at += channels) {
    sweep(channels, [&](int64_t c, auto io)
                        HWY_ATTR { io.store(hn::Mul(masked_dy(g, at + c, io), io.load(scale + c)), dx + at + c); });
  }
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(moments_piece);
HWY_EXPORT(apply_piece);
HWY_EXPORT(gradient_sums_piece);
HWY_EXPORT(gradient_apply_piece);
HWY_EXPORT(gradient_frozen_piece);

namespace {

/// Moments of one channel, to be merged in double.
struct Moments {
  double count = 0.0, mean = 0.0, m2 = 0.0;

  void merge(double other_count, double other_mean, double other_m2) {
    if (other_count == 0.0) return;
    const double total = count + other_count, delta = other_mean - mean;
    mean += delta * (other_count / total);
    m2 += other_m2 + delta * delta * (count * other_count / total);
    count = total;
  }
};

}  // namespace

int64_t batch_norm_workspace(int64_t positions, int64_t channels) {
  return 2 * channels * pieces_of(positions, rows_per_partial(positions, channels));
}

void batch_norm_moments(const float* x, int64_t positions, int64_t channels, float* workspace, float* mean, float* m2) {
  const int64_t size = rows_per_partial(positions, channels);
  parallel_ranges(positions, size, [&](int64_t begin, int64_t end) {
    float* partial = workspace + begin / size * 2 * channels;
    HWY_DYNAMIC_DISPATCH(moments_piece)(x + begin * channels, end - begin, channels, partial, partial + channels);
  });
  for (int64_t c = 0; c < channels; ++c) {
    Moments all;
    const float* partial = workspace + c;
    for (int64_t begin = 0; begin < positions; begin += size, partial += 2 * channels)
      all.merge(static_cast<double>(std::min(size, positions - begin)), static_cast<double>(partial[0]),
                static_cast<double>(partial[channels]));
    mean[c] = static_cast<float>(all.mean);
    m2[c] = static_cast<float>(all.m2);
  }
}

void batch_norm_merge_moments(int parts, const int64_t* positions, const float* const* means, const float* const* m2s,
                              int64_t channels, float* mean, float* m2) {
  for (int64_t c = 0; c < channels; ++c) {
    Moments all;
    for (int part = 0; part < parts; ++part)
      all.merge(static_cast<double>(positions[part]), static_cast<double>(means[part][c]),
                static_cast<double>(m2s[part][c]));
    mean[c] = static_cast<float>(all.mean);
    m2[c] = static_cast<float>(all.m2);
  }
}

void batch_norm_coefficients(const float* mean, const float* variance, const float* gamma, const float* beta,
                             float epsilon, int64_t channels, float* scale, float* offset) {
  for (int64_t c = 0; c < channels; ++c) {
    const float factor = (gamma == nullptr ? 1.0F : gamma[c]) / std::sqrt(variance[c] + epsilon);
    offset[c] = (beta == nullptr ? 0.0F : beta[c]) - mean[c] * factor;
    scale[c] = factor;
  }
}

void batch_norm_apply(const float* x, const float* scale, const float* offset, int64_t positions, int64_t channels,
                      bool relu, float* y) {
  parallel_ranges(positions, rows_per_piece(channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(apply_piece)
    (x + begin * channels, scale, offset, end - begin, channels, relu, y + begin * channels);
  });
}

void batch_norm_gradient_sums(const BatchNormGradient& gradient, int64_t positions, int64_t channels, float* workspace,
                              float* sum_dy, float* sum_dy_xhat) {
  const int64_t size = rows_per_partial(positions, channels);
  parallel_ranges(positions, size, [&](int64_t begin, int64_t end) {
    float* partial = workspace + begin / size * 2 * channels;
    HWY_DYNAMIC_DISPATCH(gradient_sums_piece)(gradient, begin, end, channels, partial, partial + channels);
  });
  for (int64_t c = 0; c < channels; ++c) {
    double dy = 0.0, dy_xhat = 0.0;
    for (int64_t piece = 0; piece < pieces_of(positions, size); ++piece) {
      dy += static_cast<double>(workspace[piece * 2 * channels + c]);
      dy_xhat += static_cast<double>(workspace[(piece * 2 + 1) * channels + c]);
    }
    sum_dy[c] = static_cast<float>(dy);
    sum_dy_xhat[c] = static_cast<float>(dy_xhat * static_cast<double>(gradient.inv_std[c]));
  }
}

void batch_norm_gradient_apply(const BatchNormGradient& gradient, const float* gamma, const float* sum_dy,
                               const float* sum_dy_xhat, int64_t total, int64_t positions, int64_t channels,
                               float* dx) {
  parallel_ranges(positions, rows_per_piece(channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gradient_apply_piece)
    (gradient, gamma, sum_dy, sum_dy_xhat, total, begin, end, channels, dx);
  });
}

void batch_norm_gradient_frozen(const float* dy, const float* output, const float* scale, int64_t positions,
                                int64_t channels, float* dx) {
  parallel_ranges(positions, rows_per_piece(channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gradient_frozen_piece)(dy, output, scale, begin, end, channels, dx);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
