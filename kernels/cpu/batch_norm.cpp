#include "kernels/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_BATCH_NORM_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_BATCH_NORM_ONCE
namespace dptrain::kernels::cpu {
/// Room behind a vector of sums per channel: a whole vector may be stored where a part of one is left.
inline constexpr int64_t kChannelPadding = 8;
}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

using Doubles = hn::ScalableTag<double>;
using Halves = hn::Rebind<float, Doubles>;  // as many floats
using DoubleVec = hn::Vec<Doubles>;

inline constexpr Doubles kDoubles{};
inline constexpr Halves kHalves{};
inline constexpr int64_t kDoubleLanes = static_cast<int64_t>(hn::MaxLanes(kDoubles));

static_assert(kDoubleLanes <= kChannelPadding);

/// Loads floats as a vector of doubles.
struct WholeDoubles {
  HWY_INLINE DoubleVec load(const float* p) const { return hn::PromoteTo(kDoubles, hn::LoadU(kHalves, p)); }
};

/// The first `count` of them, zeros behind; memory beyond is not touched.
struct PartialDoubles {
  int64_t count;

  HWY_INLINE DoubleVec load(const float* p) const {
#if HWY_TARGET == HWY_AVX2 || !HWY_MEM_OPS_MIGHT_FAULT  // as in Partial
    return hn::PromoteTo(kDoubles, hn::MaskedLoad(hn::FirstN(kHalves, static_cast<size_t>(count)), kHalves, p));
#else
    float lanes[kDoubleLanes] = {};
    std::memcpy(lanes, p, static_cast<size_t>(count) * sizeof(float));
    return WholeDoubles{}.load(lanes);
#endif
  }
};

struct Terms {
  DoubleVec u, v;
};

/// A pass down the positions for two sums per channel: terms(at, io, centre) gives Terms of the elements `at`; sum[c] gets
/// u and product[c] u v, position after position. Both have room for kChannelPadding more channels. Four vectors of
/// channels keep eight sums in flight: as many as two adders of four cycles want.
template <class Centre, class F>
HWY_INLINE void add_positions(int64_t begin, int64_t end, int64_t channels, double* sum, double* product,
                              const Centre& centre_of, const F& terms) {
  const auto columns = [&](int64_t c, auto vectors, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    DoubleVec s[kVectors], p[kVectors];
    decltype(centre_of(c, io)) centre[kVectors];
    for (int k = 0; k < kVectors; ++k) {
      s[k] = hn::LoadU(kDoubles, sum + c + k * kDoubleLanes);
      p[k] = hn::LoadU(kDoubles, product + c + k * kDoubleLanes);
      centre[k] = centre_of(c + k * kDoubleLanes, io);
    }
    for (int64_t position = begin; position < end; ++position) {
      for (int k = 0; k < kVectors; ++k) {
        const Terms t = terms(position * channels + c + k * kDoubleLanes, io, centre[k]);
        s[k] = hn::Add(s[k], t.u);
        p[k] = hn::MulAdd(t.u, t.v, p[k]);
      }
    }
    for (int k = 0; k < kVectors; ++k) {
      hn::StoreU(s[k], kDoubles, sum + c + k * kDoubleLanes);
      hn::StoreU(p[k], kDoubles, product + c + k * kDoubleLanes);
    }
  };
  int64_t c = 0;
  for (; c + 4 * kDoubleLanes <= channels; c += 4 * kDoubleLanes)
    columns(c, std::integral_constant<int, 4>{}, WholeDoubles{});
  for (; c + 2 * kDoubleLanes <= channels; c += 2 * kDoubleLanes)
    columns(c, std::integral_constant<int, 2>{}, WholeDoubles{});
  for (; c + kDoubleLanes <= channels; c += kDoubleLanes) columns(c, std::integral_constant<int, 1>{}, WholeDoubles{});
  if (c < channels) columns(c, std::integral_constant<int, 1>{}, PartialDoubles{channels - c});
}

/// The same in blocks of positions that stay in the second-level cache while the columns are gone through. Sets the sums.
template <class Centre, class F>
HWY_INLINE void sum_positions(int64_t begin, int64_t end, int64_t channels, double* sum, double* product,
                              const Centre& centre_of, const F& terms) {
  const int64_t room = channels + kChannelPadding, size = std::max<int64_t>(16, kPieceElements / channels);
  std::fill_n(sum, room, 0.0);
  std::fill_n(product, room, 0.0);
  for (int64_t first = begin; first < end; first += size)
    add_positions(first, std::min(end, first + size), channels, sum, product, centre_of, terms);
}

void sums_piece(const float* x, int64_t begin, int64_t end, int64_t channels, double* sum, double* sum_sq) {
  const auto none = [](int64_t, auto) HWY_ATTR { return 0; };
  sum_positions(begin, end, channels, sum, sum_sq, none, [&](int64_t at, auto io, int) HWY_ATTR {
    const DoubleVec value = io.load(x + at);
    return Terms{value, value};
  });
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
void gradient_sums_piece(const BatchNormGradient& g, int64_t begin, int64_t end, int64_t channels, double* sum_dy,
                         double* sum_dy_xhat) {
  const auto mean_of = [&](int64_t c, auto io) HWY_ATTR { return io.load(g.mean + c); };
  sum_positions(begin, end, channels, sum_dy, sum_dy_xhat, mean_of, [&](int64_t at, auto io, DoubleVec mean) HWY_ATTR {
    DoubleVec dy = io.load(g.dy + at);
    if (g.output != nullptr) dy = hn::IfThenElseZero(hn::Gt(io.load(g.output + at), hn::Zero(kDoubles)), dy);
    return Terms{dy, hn::Sub(io.load(g.x + at), mean)};
  });
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

HWY_EXPORT(sums_piece);
HWY_EXPORT(apply_piece);
HWY_EXPORT(gradient_sums_piece);
HWY_EXPORT(gradient_apply_piece);
HWY_EXPORT(gradient_frozen_piece);

namespace {

/// The pieces that `count` positions are cut into; each has two sums of room_of(channels) doubles in the workspace.
int64_t piece_size(int64_t positions, int64_t channels) { return rows_per_partial(positions, channels); }
int64_t room_of(int64_t channels) { return channels + kChannelPadding; }

/// Runs piece(begin, end, first, second) for all pieces and adds their sums in order.
template <class F>
void sum_pieces(int64_t positions, int64_t channels, double* workspace, double* first, double* second, const F& piece) {
  const int64_t size = piece_size(positions, channels), room = room_of(channels);
  parallel_ranges(positions, size, [&](int64_t begin, int64_t end) {
    double* const sums = workspace + begin / size * 2 * room;
    piece(begin, end, sums, sums + room);
  });
  std::fill_n(first, channels, 0.0);
  std::fill_n(second, channels, 0.0);
  for (const double* sums = workspace; sums < workspace + pieces_of(positions, size) * 2 * room; sums += 2 * room) {
    for (int64_t c = 0; c < channels; ++c) {
      first[c] += sums[c];
      second[c] += sums[room + c];
    }
  }
}

}  // namespace

int64_t batch_norm_workspace(int64_t positions, int64_t channels) {
  return 2 * room_of(channels) * pieces_of(positions, piece_size(positions, channels));
}

void batch_norm_sums(const float* x, int64_t positions, int64_t channels, double* workspace, double* sum,
                     double* sum_sq) {
  sum_pieces(positions, channels, workspace, sum, sum_sq, [&](int64_t begin, int64_t end, double* a, double* b) {
    HWY_DYNAMIC_DISPATCH(sums_piece)(x, begin, end, channels, a, b);
  });
}

void batch_norm_moments(const double* sum, const double* sum_sq, int64_t total, float epsilon, int64_t channels,
                        float* mean, float* variance, float* inv_std) {
  const double share = total > 0 ? 1.0 / static_cast<double>(total) : 0.0;
  for (int64_t c = 0; c < channels; ++c) {
    const double m = sum[c] * share, v = sum_sq[c] * share - m * m;
    mean[c] = static_cast<float>(m);
    variance[c] = v < 0.0 ? 0.0F : static_cast<float>(v);  // NaN passes
    inv_std[c] = 1.0F / std::sqrt(variance[c] + epsilon);
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

void batch_norm_gradient_sums(const BatchNormGradient& gradient, int64_t positions, int64_t channels, double* workspace,
                              double* sum_dy, double* sum_dy_xhat) {
  sum_pieces(positions, channels, workspace, sum_dy, sum_dy_xhat,
             [&](int64_t begin, int64_t end, double* a, double* b) {
               HWY_DYNAMIC_DISPATCH(gradient_sums_piece)(gradient, begin, end, channels, a, b);
             });
  for (int64_t c = 0; c < channels; ++c) sum_dy_xhat[c] *= static_cast<double>(gradient.inv_std[c]);
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
