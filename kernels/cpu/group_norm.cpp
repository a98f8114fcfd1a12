#include "kernels/cpu/group_norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_GROUP_NORM_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_GROUP_NORM_ONCE
namespace dptrain::kernels::cpu {

/// Vectors of channels for a piece of the rows. The first two are the results of backward for the piece.
struct GroupNormScratch {
  static constexpr int64_t kVectors = 6;
  float *dgamma, *dbeta, *first, *second, *mean, *scale;

  GroupNormScratch(float* workspace, int64_t channels)
      : dgamma(workspace),
        dbeta(workspace + channels),
        first(workspace + 2 * channels),
        second(workspace + 3 * channels),
        mean(workspace + 4 * channels),
        scale(workspace + 5 * channels) {}
};

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/group_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Positions added in sequence before their sum is added to the total: bounds the rounding error, fits the L1 cache.
inline constexpr int64_t kPositionChain = 32;

/// Prefetches kVectors vectors of the next chain in memory order: the current one is read column by column, which the
/// hardware prefetcher does not detect. Step `step` of `steps` of the columns from c on.
template <int kVectors>
HWY_INLINE void fetch_next(const float* next, int64_t c, int64_t step, int64_t steps) {
  const float* const part = next + c * steps + step * kVectors * kLanes;
  for (int k = 0; k < kVectors; ++k) __builtin_prefetch(part + k * kLanes, 0, 2);
}

/// means[c] and squares[c] = sum over positions of (x - mean)^2 for every channel. Combines the moments of chains of
/// positions (Chan, Golub and LeVeque 1979), so memory is read once.
HWY_INLINE void channel_moments(const float* x, int64_t positions, int64_t channels, float* means, float* squares) {
  for (int64_t first = 0; first < positions; first += kPositionChain) {
    const int64_t end = std::min(positions, first + kPositionChain);
    const auto count = static_cast<float>(end - first), total = static_cast<float>(end);
    const Vec share = splat(1.0F / count), moved = splat(count / total),
              apart = splat(static_cast<float>(first) * count / total);
    sweep_columns(channels, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      Vec mean[kVectors], square[kVectors];
      for (int k = 0; k < kVectors; ++k) mean[k] = square[k] = hn::Zero(kFloats);
      for (int64_t position = first; position < end; ++position) {
        fetch_next<kVectors>(x + end * channels, c, position - first, end - first);
        for (int k = 0; k < kVectors; ++k)
          mean[k] = hn::Add(mean[k], io.load(x + position * channels + c + k * kLanes));
      }
      for (int k = 0; k < kVectors; ++k) mean[k] = hn::Mul(mean[k], share);
      for (int64_t position = first; position < end; ++position)
        for (int k = 0; k < kVectors; ++k) {
          const Vec centred = hn::Sub(io.load(x + position * channels + c + k * kLanes), mean[k]);
          square[k] = hn::MulAdd(centred, centred, square[k]);
        }
      for (int k = 0; k < kVectors; ++k) {
        float *const of_mean = means + c + k * kLanes, *const of_square = squares + c + k * kLanes;
        if (first > 0) {
          const Vec old = io.load(of_mean), step = hn::Sub(mean[k], old);
          mean[k] = hn::MulAdd(step, moved, old);
          square[k] = hn::MulAdd(hn::Mul(step, step), apart, hn::Add(io.load(of_square), square[k]));
        }
        io.store(mean[k], of_mean);
        io.store(square[k], of_square);
      }
    });
  }
}

/// sums[c] = sum of dy over positions, products[c] = sum of dy (x - mean[c]).
HWY_INLINE void channel_products(const float* x, const float* dy, const float* mean, int64_t positions,
                                 int64_t channels, float* sums, float* products) {
  std::memset(sums, 0, static_cast<size_t>(channels) * sizeof(float));
  std::memset(products, 0, static_cast<size_t>(channels) * sizeof(float));
  for (int64_t first = 0; first < positions; first += kPositionChain) {
    const int64_t end = std::min(positions, first + kPositionChain);
    sweep_columns(channels, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      Vec sum[kVectors], product[kVectors], centre[kVectors];
      for (int k = 0; k < kVectors; ++k) {
        sum[k] = product[k] = hn::Zero(kFloats);
        centre[k] = io.load(mean + c + k * kLanes);
      }
      for (int64_t position = first; position < end; ++position) {
        fetch_next<kVectors>(x + end * channels, c, position - first, end - first);
        fetch_next<kVectors>(dy + end * channels, c, position - first, end - first);
        for (int k = 0; k < kVectors; ++k) {
          const int64_t at = position * channels + c + k * kLanes;
          const Vec g = io.load(dy + at);
          sum[k] = hn::Add(sum[k], g);
          product[k] = hn::MulAdd(g, hn::Sub(io.load(x + at), centre[k]), product[k]);
        }
      }
      for (int k = 0; k < kVectors; ++k) {
        float *const of_sum = sums + c + k * kLanes, *const of_product = products + c + k * kLanes;
        io.store(hn::Add(io.load(of_sum), sum[k]), of_sum);
        io.store(hn::Add(io.load(of_product), product[k]), of_product);
      }
    });
  }
}

/// Sum over channels [begin, end) of terms(channel, io), in four chains.
template <class F>
HWY_INLINE float channel_sum(int64_t begin, int64_t end, const F& terms) {
  Vec a = hn::Zero(kFloats), b = a, c = a, d = a;
  for (; begin + 4 * kLanes <= end; begin += 4 * kLanes) {
    a = hn::Add(a, terms(begin, Whole{}));
    b = hn::Add(b, terms(begin + kLanes, Whole{}));
    c = hn::Add(c, terms(begin + 2 * kLanes, Whole{}));
    d = hn::Add(d, terms(begin + 3 * kLanes, Whole{}));
  }
  sweep(end - begin, [&](int64_t i, auto io) HWY_ATTR { a = hn::Add(a, io.clear(terms(begin + i, io))); });
  return sum_lanes(hn::Add(hn::Add(a, b), hn::Add(c, d)));
}

HWY_INLINE void set_channels(int64_t begin, int64_t end, float value, float* to) {
  std::fill(to + begin, to + end, value);
}

/// Whether a row is one group of channels: layer normalization, whose rows stay in the L1 cache.
HWY_INLINE bool is_layer_norm(const GroupNorm& n) { return n.spatial == 1 && n.groups == 1; }

void layer_norm_rows(const GroupNorm& n, const float* x, const float* gamma, const float* beta, int64_t begin,
                     int64_t end, float* y, float* mean, float* inv_std) {
  const int64_t channels = n.channels;
  const float share = 1.0F / static_cast<float>(channels);
  for (int64_t row = begin; row < end; ++row) {
    const float* const from = x + row * channels;
    const float centre =
        n.centered ? share * channel_sum(0, channels, [=](int64_t c, auto io) HWY_ATTR { return io.load(from + c); })
                   : 0.0F;
    const Vec centres = splat(centre);
    const float variance = share * channel_sum(0, channels, [=](int64_t c, auto io) HWY_ATTR {
                             const Vec centred = hn::Sub(io.load(from + c), centres);
                             return hn::Mul(centred, centred);
                           });
    const float inverse = 1.0F / std::sqrt(variance + n.epsilon);
    if (mean != nullptr) {
      mean[row] = centre;
      inv_std[row] = inverse;
    }
    const Vec scale = splat(inverse);
    float* const to = y + row * channels;
    sweep(channels, [=](int64_t c, auto io) HWY_ATTR {
      const Vec centred = hn::Sub(io.load(from + c), centres);
      const Vec factor = gamma == nullptr ? scale : hn::Mul(scale, io.load(gamma + c));
      io.store(hn::MulAdd(centred, factor, beta == nullptr ? hn::Zero(kFloats) : io.load(beta + c)), to + c);
    });
  }
}

/// As row_dx and the sums before it, for rows of one group; adds to dgamma and dbeta.
void layer_norm_gradient_rows(const GroupNorm& n, const GroupNormGradient& g, int64_t begin, int64_t end, float* dgamma,
                              float* dbeta, float* dx) {
  const int64_t channels = n.channels;
  const float share = 1.0F / static_cast<float>(channels);
  const float* const gamma = g.gamma;
  for (int64_t row = begin; row < end; ++row) {
    const float *const x = g.x + row * channels, *const dy = g.dy + row * channels;
    const float inverse = g.inv_std[row];
    const Vec centre = splat(g.mean[row]), scale = splat(inverse);
    const auto weighed = [=](int64_t c, Vec v, auto io)
                             HWY_ATTR { return gamma == nullptr ? v : hn::Mul(v, io.load(gamma + c)); };
    const auto normal = [=](int64_t c, auto io) HWY_ATTR { return hn::Mul(hn::Sub(io.load(x + c), centre), scale); };
    Vec products = hn::Zero(kFloats), more_products = products;
    const float sum = channel_sum(0, channels, [&](int64_t c, auto io) HWY_ATTR {
      const Vec gradient = io.load(dy + c), product = hn::Mul(gradient, normal(c, io));
      io.store(hn::Add(io.load(dgamma + c), product), dgamma + c);
      io.store(hn::Add(io.load(dbeta + c), gradient), dbeta + c);
      products = hn::Add(products, io.clear(weighed(c, product, io)));
      std::swap(products, more_products);  // two chains
      return weighed(c, gradient, io);
    });
    if (dx == nullptr) continue;
    const Vec a = splat(n.centered ? sum * share * inverse : 0.0F);
    const Vec b = splat(sum_lanes(hn::Add(products, more_products)) * share * inverse);
    float* const to = dx + row * channels;
    sweep(channels, [=](int64_t c, auto io) HWY_ATTR {
      const Vec own = hn::MulSub(weighed(c, io.load(dy + c), io), scale, a);
      io.store(hn::NegMulAdd(normal(c, io), b, own), to + c);
    });
  }
}

void forward_piece(const GroupNorm& n, const float* x, const float* gamma, const float* beta, int64_t begin,
                   int64_t end, float* workspace, float* y, float* mean, float* inv_std) {
  if (is_layer_norm(n)) return layer_norm_rows(n, x, gamma, beta, begin, end, y, mean, inv_std);
  const GroupNormScratch scratch(workspace, n.channels);
  const int64_t width = n.channels / n.groups, size = n.spatial * n.channels;
  const float share = 1.0F / static_cast<float>(n.spatial * width);
  for (int64_t row = begin; row < end; ++row) {
    const float* const from = x + row * size;
    channel_moments(from, n.spatial, n.channels, scratch.first, scratch.second);
    for (int64_t g = 0; g < n.groups; ++g) {
      const int64_t first = g * width, last = first + width;
      const float of_group =
          channel_sum(first, last, [&](int64_t c, auto io) HWY_ATTR { return io.load(scratch.first + c); }) /
          static_cast<float>(width);
      const Vec centre = splat(of_group), positions = splat(static_cast<float>(n.spatial));
      const float sum = channel_sum(first, last, [&](int64_t c, auto io) HWY_ATTR {
        const Vec apart = hn::Sub(io.load(scratch.first + c), centre);
        return hn::MulAdd(hn::Mul(apart, apart), positions, io.load(scratch.second + c));
      });
      const float inverse = 1.0F / std::sqrt(sum * share + n.epsilon);
      set_channels(first, last, of_group, scratch.mean);
      set_channels(first, last, inverse, scratch.scale);
      if (mean == nullptr) continue;
      mean[row * n.groups + g] = of_group;
      inv_std[row * n.groups + g] = inverse;
    }
    if (gamma != nullptr)
      map(
          n.channels, scratch.scale, [](Vec a, Vec b) HWY_ATTR { return hn::Mul(a, b); }, scratch.scale, gamma);
    for (int64_t at = 0; at < size; at += n.channels) {
      sweep(n.channels, [&](int64_t c, auto io) HWY_ATTR {
        const Vec centred = hn::Sub(io.load(from + at + c), io.load(scratch.mean + c));
        const Vec offset = beta == nullptr ? hn::Zero(kFloats) : io.load(beta + c);
        io.store(hn::MulAdd(centred, io.load(scratch.scale + c), offset), y + row * size + at + c);
      });
    }
  }
}

/// With A = mean over the group of dy gamma and B = mean of dy gamma xhat: dx = inv_std (dy gamma - A - xhat B).
HWY_INLINE void row_dx(const GroupNorm& n, const GroupNormGradient& g, int64_t row, const GroupNormScratch& scratch,
                       float* dx) {
  const int64_t width = n.channels / n.groups, size = n.spatial * n.channels;
  const float share = 1.0F / static_cast<float>(n.spatial * width);
  const auto weighed = [&](const float* sums) HWY_ATTR {
    return [=, &g](int64_t c, auto io) HWY_ATTR {
      return g.gamma == nullptr ? io.load(sums + c) : hn::Mul(io.load(sums + c), io.load(g.gamma + c));
    };
  };
  for (int64_t group = 0; group < n.groups; ++group) {
    const int64_t begin = group * width, end = begin + width;
    const float inverse = g.inv_std[row * n.groups + group];
    const float a = channel_sum(begin, end, weighed(scratch.first)) * share;
    const float b = channel_sum(begin, end, weighed(scratch.second)) * share;
    set_channels(begin, end, a * inverse, scratch.first);             // A inv_std
    set_channels(begin, end, b * inverse * inverse, scratch.second);  // B inv_std^2
    set_channels(begin, end, inverse, scratch.scale);
  }
  if (g.gamma != nullptr)
    map(
        n.channels, scratch.scale, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, scratch.scale, g.gamma);
  for (int64_t at = row * size; at < (row + 1) * size; at += n.channels) {
    sweep(n.channels, [&](int64_t c, auto io) HWY_ATTR {
      const Vec centred = hn::Sub(io.load(g.x + at + c), io.load(scratch.mean + c));
      const Vec own = hn::MulSub(io.load(g.dy + at + c), io.load(scratch.scale + c), io.load(scratch.first + c));
      io.store(hn::NegMulAdd(centred, io.load(scratch.second + c), own), dx + at + c);
    });
  }
}

void backward_piece(const GroupNorm& n, const GroupNormGradient& g, int64_t begin, int64_t end, float* workspace,
                    float* dx) {
  const GroupNormScratch scratch(workspace, n.channels);
  const int64_t width = n.channels / n.groups, size = n.spatial * n.channels;
  std::fill_n(scratch.dgamma, 2 * n.channels, 0.0F);
  if (is_layer_norm(n)) return layer_norm_gradient_rows(n, g, begin, end, scratch.dgamma, scratch.dbeta, dx);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t group = 0; group < n.groups; ++group) {
      set_channels(group * width, (group + 1) * width, g.mean[row * n.groups + group], scratch.mean);
      set_channels(group * width, (group + 1) * width, g.inv_std[row * n.groups + group], scratch.scale);
    }
    const float *const x = g.x + row * size, *const dy = g.dy + row * size;
    channel_products(x, dy, scratch.mean, n.spatial, n.channels, scratch.first, scratch.second);
    sweep(n.channels, [&](int64_t c, auto io) HWY_ATTR {
      const Vec products = hn::Mul(io.load(scratch.second + c), io.load(scratch.scale + c));
      io.store(products, scratch.second + c);
      io.store(hn::Add(io.load(scratch.dgamma + c), products), scratch.dgamma + c);
      io.store(hn::Add(io.load(scratch.dbeta + c), io.load(scratch.first + c)), scratch.dbeta + c);
    });
    if (dx != nullptr) row_dx(n, g, row, scratch, dx);
  }
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(forward_piece);
HWY_EXPORT(backward_piece);

namespace {

int64_t piece_size(const GroupNorm& n, int64_t rows) { return rows_per_partial(rows, n.spatial * n.channels); }
int64_t scratch_floats(const GroupNorm& n) { return GroupNormScratch::kVectors * n.channels; }

}  // namespace

int64_t group_norm_workspace(const GroupNorm& norm, int64_t rows) {
  return pieces_of(rows, piece_size(norm, rows)) * scratch_floats(norm);
}

void group_norm_forward(const GroupNorm& norm, const float* x, const float* gamma, const float* beta, int64_t rows,
                        float* workspace, float* y, float* mean, float* inv_std) {
  const int64_t size = piece_size(norm, rows);
  parallel_ranges(rows, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(forward_piece)
    (norm, x, gamma, beta, begin, end, workspace + begin / size * scratch_floats(norm), y, mean, inv_std);
  });
}

void group_norm_backward(const GroupNorm& norm, const GroupNormGradient& gradient, int64_t rows, float* workspace,
                         float* dx, float* dgamma, float* dbeta) {
  const int64_t size = piece_size(norm, rows), scratch = scratch_floats(norm);
  parallel_ranges(rows, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_piece)(norm, gradient, begin, end, workspace + begin / size * scratch, dx);
  });
  const float* from = workspace;  // dgamma of all pieces, then dbeta
  for (float* const to : {dgamma, dbeta}) {
    for (int64_t c = 0; to != nullptr && c < norm.channels; ++c) {
      double sum = 0;
      for (int64_t piece = 0; piece < pieces_of(rows, size); ++piece)
        sum += static_cast<double>(from[piece * scratch + c]);
      to[c] = static_cast<float>(sum);
    }
    from += norm.channels;
  }
}

}  // namespace dptrain::kernels::cpu
#endif
