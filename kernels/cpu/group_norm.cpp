#include "kernels/cpu/group_norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_GROUP_NORM_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_GROUP_NORM_ONCE
namespace dptrain::kernels::cpu {

/// Vectors of channels that a piece of the rows works with. The first two are the piece's results of backward.
struct GroupNormRoom {
  static constexpr int64_t kVectors = 6;
  float *dgamma, *dbeta, *first, *second, *mean, *scale;

  GroupNormRoom(float* workspace, int64_t channels)
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

/// Positions that are added one after the other before their sum is added to the total: bounds the rounding error.
inline constexpr int64_t kPositionChain = 256;

/// sums[c] = sum over positions of terms(element, channel, io).
template <class F>
HWY_INLINE void position_sums(int64_t positions, int64_t channels, float* sums, const F& terms) {
  std::memset(sums, 0, static_cast<size_t>(channels) * sizeof(float));
  for (int64_t first = 0; first < positions; first += kPositionChain) {
    const int64_t end = std::min(positions, first + kPositionChain);
    sweep_columns(channels, [&](int64_t c, auto vectors, auto io) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      Vec sum[kVectors];
      for (Vec& s : sum) s = hn::Zero(kFloats);
      for (int64_t position = first; position < end; ++position)
        for (int k = 0; k < kVectors; ++k)
          sum[k] = hn::Add(sum[k], terms(position * channels + c + k * kLanes, c + k * kLanes, io));
      for (int k = 0; k < kVectors; ++k) {
        float* const to = sums + c + k * kLanes;
        io.store(hn::Add(io.load(to), sum[k]), to);
      }
    });
  }
}

/// Sum over n channels of terms(channel, io).
template <class F>
HWY_INLINE float channel_sum(int64_t begin, int64_t end, const F& terms) {
  Vec sum = hn::Zero(kFloats);
  sweep(end - begin, [&](int64_t i, auto io) HWY_ATTR { sum = hn::Add(sum, io.clear(terms(begin + i, io))); });
  return sum_lanes(sum);
}

/// Fills [begin, end) of a vector of channels.
HWY_INLINE void set_channels(int64_t begin, int64_t end, float value, float* to) {
  std::fill(to + begin, to + end, value);
}

void forward_piece(const GroupNorm& n, const float* x, const float* gamma, const float* beta, int64_t begin,
                   int64_t end, float* workspace, float* y, float* mean, float* inv_std) {
  const GroupNormRoom room(workspace, n.channels);
  const int64_t width = n.channels / n.groups, size = n.spatial * n.channels;
  const float share = 1.0F / static_cast<float>(n.spatial * width);
  for (int64_t row = begin; row < end; ++row) {
    const float* const from = x + row * size;
    position_sums(n.spatial, n.channels, room.first,
                  [&](int64_t i, int64_t, auto io) HWY_ATTR { return io.load(from + i); });
    for (int64_t g = 0; g < n.groups; ++g) {
      const float sum =
          channel_sum(g * width, (g + 1) * width, [&](int64_t c, auto io) HWY_ATTR { return io.load(room.first + c); });
      set_channels(g * width, (g + 1) * width, sum * share, room.mean);
    }
    position_sums(n.spatial, n.channels, room.second, [&](int64_t i, int64_t c, auto io) HWY_ATTR {
      const Vec centred = hn::Sub(io.load(from + i), io.load(room.mean + c));
      return hn::Mul(centred, centred);
    });
    for (int64_t g = 0; g < n.groups; ++g) {
      const float sum = channel_sum(g * width, (g + 1) * width,
                                    [&](int64_t c, auto io) HWY_ATTR { return io.load(room.second + c); });
      const float inverse = 1.0F / std::sqrt(sum * share + n.epsilon);
      set_channels(g * width, (g + 1) * width, inverse, room.scale);
      if (mean == nullptr) continue;
      mean[row * n.groups + g] = room.mean[g * width];
      inv_std[row * n.groups + g] = inverse;
    }
    if (gamma != nullptr)
      map(
          n.channels, room.scale, [](Vec a, Vec b) HWY_ATTR { return hn::Mul(a, b); }, room.scale, gamma);
    for (int64_t at = 0; at < size; at += n.channels) {
      sweep(n.channels, [&](int64_t c, auto io) HWY_ATTR {
        const Vec centred = hn::Sub(io.load(from + at + c), io.load(room.mean + c));
        const Vec offset = beta == nullptr ? hn::Zero(kFloats) : io.load(beta + c);
        io.store(hn::MulAdd(centred, io.load(room.scale + c), offset), y + row * size + at + c);
      });
    }
  }
}

/// With A = mean over the group of dy gamma and B = that of dy gamma xhat: dx = inv_std (dy gamma - A - xhat B).
HWY_INLINE void row_dx(const GroupNorm& n, const GroupNormGradient& g, int64_t row, const GroupNormRoom& room,
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
    const float a = channel_sum(begin, end, weighed(room.first)) * share;
    const float b = channel_sum(begin, end, weighed(room.second)) * share;
    set_channels(begin, end, a * inverse, room.first);             // A inv_std
    set_channels(begin, end, b * inverse * inverse, room.second);  // B inv_std^2
    set_channels(begin, end, inverse, room.scale);
  }
  if (g.gamma != nullptr)
    map(
        n.channels, room.scale, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, room.scale, g.gamma);
  for (int64_t at = row * size; at < (row + 1) * size; at += n.channels) {
    sweep(n.channels, [&](int64_t c, auto io) HWY_ATTR {
      const Vec centred = hn::Sub(io.load(g.x + at + c), io.load(room.mean + c));
      const Vec own = hn::MulSub(io.load(g.dy + at + c), io.load(room.scale + c), io.load(room.first + c));
      io.store(hn::NegMulAdd(centred, io.load(room.second + c), own), dx + at + c);
    });
  }
}

void backward_piece(const GroupNorm& n, const GroupNormGradient& g, int64_t begin, int64_t end, float* workspace,
                    float* dx) {
  const GroupNormRoom room(workspace, n.channels);
  const int64_t width = n.channels / n.groups, size = n.spatial * n.channels;
  std::fill_n(room.dgamma, 2 * n.channels, 0.0F);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t group = 0; group < n.groups; ++group) {
      set_channels(group * width, (group + 1) * width, g.mean[row * n.groups + group], room.mean);
      set_channels(group * width, (group + 1) * width, g.inv_std[row * n.groups + group], room.scale);
    }
    const float *const x = g.x + row * size, *const dy = g.dy + row * size;
    position_sums(n.spatial, n.channels, room.first,
                  [&](int64_t i, int64_t, auto io) HWY_ATTR { return io.load(dy + i); });
    position_sums(n.spatial, n.channels, room.second, [&](int64_t i, int64_t c, auto io) HWY_ATTR {
      return hn::Mul(io.load(dy + i), hn::Sub(io.load(x + i), io.load(room.mean + c)));
    });
    sweep(n.channels, [&](int64_t c, auto io) HWY_ATTR {
      const Vec products = hn::Mul(io.load(room.second + c), io.load(room.scale + c));
      io.store(products, room.second + c);
      io.store(hn::Add(io.load(room.dgamma + c), products), room.dgamma + c);
      io.store(hn::Add(io.load(room.dbeta + c), io.load(room.first + c)), room.dbeta + c);
    });
    if (dx != nullptr) row_dx(n, g, row, room, dx);
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
int64_t room_of(const GroupNorm& n) { return GroupNormRoom::kVectors * n.channels; }

}  // namespace

int64_t group_norm_workspace(const GroupNorm& norm, int64_t rows) {
  return pieces_of(rows, piece_size(norm, rows)) * room_of(norm);
}

void group_norm_forward(const GroupNorm& norm, const float* x, const float* gamma, const float* beta, int64_t rows,
                        float* workspace, float* y, float* mean, float* inv_std) {
  const int64_t size = piece_size(norm, rows);
  parallel_ranges(rows, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(forward_piece)
    (norm, x, gamma, beta, begin, end, workspace + begin / size * room_of(norm), y, mean, inv_std);
  });
}

void group_norm_backward(const GroupNorm& norm, const GroupNormGradient& gradient, int64_t rows, float* workspace,
                         float* dx, float* dgamma, float* dbeta) {
  const int64_t size = piece_size(norm, rows), room = room_of(norm);
  parallel_ranges(rows, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_piece)(norm, gradient, begin, end, workspace + begin / size * room, dx);
  });
  const float* from = workspace;  // the pieces' dgamma, then their dbeta
  for (float* const to : {dgamma, dbeta}) {
    for (int64_t c = 0; to != nullptr && c < norm.channels; ++c) {
      double sum = 0;
      for (int64_t piece = 0; piece < pieces_of(rows, size); ++piece)
        sum += static_cast<double>(from[piece * room + c]);
      to[c] = static_cast<float>(sum);
    }
    from += norm.channels;
  }
}

}  // namespace dptrain::kernels::cpu
#endif
