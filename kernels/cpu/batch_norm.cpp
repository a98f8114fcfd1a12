#include "kernels/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

#include <hwy/cache_control.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_BATCH_NORM_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_BATCH_NORM_ONCE
namespace dptrain::kernels::cpu {
/// Padding after a row of sums per channel, in floats, so that the last vector can be stored whole.
inline constexpr int64_t kChannelPadding = 8;
/// Minimum number of positions summed before the next channels, so that memory is read nearly in order.
inline constexpr int64_t kBlockPositions = 16;
/// Minimum number of elements of a block of positions: more positions if there are few channels.
inline constexpr int64_t kBlockElements = 1024;
/// How many positions ahead the sums of a gradient prefetch.
inline constexpr int64_t kAheadPositions = 4;
/// With more channels they leave prefetching to the hardware.
inline constexpr int64_t kAheadChannels = 512;
/// From this many elements (8 MiB) on, forward in training uses non-temporal stores, which saves reading lines that are
/// overwritten. Inference reuses its few buffers (MobileNetV2: 1.04 times as fast without); backward had no gain.
inline constexpr int64_t kStreamElements = int64_t{2} << 20;
}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

using Doubles = hn::ScalableTag<double>;
using Halves = hn::Rebind<float, Doubles>;  // as many floats as Doubles has lanes
using DoubleVec = hn::Vec<Doubles>;
using HalfVec = hn::Vec<Halves>;

inline constexpr Doubles kDoubles{};
inline constexpr Halves kHalves{};
inline constexpr int64_t kDoubleLanes = static_cast<int64_t>(hn::MaxLanes(kDoubles));

static_assert(kDoubleLanes <= kChannelPadding);

struct WholeHalves {
  HWY_INLINE HalfVec load(const float* p) const { return hn::LoadU(kHalves, p); }
  HWY_INLINE void store(HalfVec v, float* p) const { hn::StoreU(v, kHalves, p); }
};

/// Loads and stores the first `count` floats; loads fill the rest with zeros, and memory beyond is not accessed.
struct PartialHalves {
  int64_t count;

#if HWY_TARGET == HWY_AVX2 || !HWY_MEM_OPS_MIGHT_FAULT  // as in Partial
  HWY_INLINE HalfVec load(const float* p) const {
    return hn::MaskedLoad(hn::FirstN(kHalves, static_cast<size_t>(count)), kHalves, p);
  }
  HWY_INLINE void store(HalfVec v, float* p) const {
    hn::BlendedStore(v, hn::FirstN(kHalves, static_cast<size_t>(count)), kHalves, p);
  }
#else
  HWY_INLINE HalfVec load(const float* p) const {
    float lanes[kDoubleLanes] = {};
    std::memcpy(lanes, p, static_cast<size_t>(count) * sizeof(float));
    return hn::LoadU(kHalves, lanes);
  }
  HWY_INLINE void store(HalfVec v, float* p) const {
    float lanes[kDoubleLanes];
    hn::StoreU(v, kHalves, lanes);
    std::memcpy(p, lanes, static_cast<size_t>(count) * sizeof(float));
  }
#endif
};

HWY_INLINE DoubleVec promoted(HalfVec v) { return hn::PromoteTo(kDoubles, v); }

struct Terms {
  DoubleVec u, v;
};

/// Adds two sums per channel over positions, in order: terms(at, io, constants) returns Terms of the elements `at`,
/// with the result of constants_of(channel, io). sum[c] += u, product[c] += u v; both arrays are padded by
/// kChannelPadding. Four vectors of channels keep eight additions in flight: two adders with a latency of four cycles.
template <class Constants, class F>
HWY_INLINE void add_positions(int64_t begin, int64_t end, int64_t channels, double* sum, double* product,
                              const Constants& constants_of, const F& terms) {
  const auto columns = [&](int64_t c, auto vectors, auto io) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    DoubleVec s[kVectors], p[kVectors];
    decltype(constants_of(c, io)) constants[kVectors];
    for (int k = 0; k < kVectors; ++k) {
      s[k] = hn::LoadU(kDoubles, sum + c + k * kDoubleLanes);
      p[k] = hn::LoadU(kDoubles, product + c + k * kDoubleLanes);
      constants[k] = constants_of(c + k * kDoubleLanes, io);
    }
    for (int64_t position = begin; position < end; ++position) {
      for (int k = 0; k < kVectors; ++k) {
        const Terms t = terms(position * channels + c + k * kDoubleLanes, io, constants[k]);
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
    columns(c, std::integral_constant<int, 4>{}, WholeHalves{});
  for (; c + 2 * kDoubleLanes <= channels; c += 2 * kDoubleLanes)
    columns(c, std::integral_constant<int, 2>{}, WholeHalves{});
  for (; c + kDoubleLanes <= channels; c += kDoubleLanes) columns(c, std::integral_constant<int, 1>{}, WholeHalves{});
  if (c < channels) columns(c, std::integral_constant<int, 1>{}, PartialHalves{channels - c});
}

/// Adds the first `count` positions to the sums, in small blocks, so that memory is read nearly in order.
template <class Constants, class F>
HWY_INLINE void sum_positions(int64_t count, int64_t channels, double* sum, double* product,
                              const Constants& constants_of, const F& terms) {
  const int64_t size = std::max<int64_t>(kBlockPositions, kBlockElements / channels);
  for (int64_t first = 0; first < count; first += size)
    add_positions(first, std::min(count, first + size), channels, sum, product, constants_of, terms);
}

void sums_piece(const float* x, int64_t count, int64_t channels, double* sum, double* sum_sq) {
  const auto none = [](int64_t, auto) HWY_ATTR { return 0; };
  sum_positions(count, channels, sum, sum_sq, none, [&](int64_t at, auto io, int) HWY_ATTR {
    const DoubleVec value = promoted(io.load(x + at));
    return Terms{value, value};
  });
}

/// Non-temporal stores, for arrays larger than the caches.
struct Streamed {
  HWY_INLINE Vec load(const float* p) const { return hn::LoadU(kFloats, p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::Stream(v, kFloats, p); }
};

/// Calls f(at, c, io) for each element `at`, of channel c, of the first `count` positions; streamed: non-temporal
/// stores.
template <class F>
HWY_INLINE void for_positions(int64_t count, int64_t channels, bool streamed, const F& f) {
  if (streamed) {
    for (int64_t at = 0; at < count * channels; at += channels)
      for (int64_t c = 0; c < channels; c += kLanes) f(at + c, c, Streamed{});
    hwy::FlushStream();
    return;
  }
  for (int64_t at = 0; at < count * channels; at += channels)
    sweep(channels, [&](int64_t c, auto io) HWY_ATTR { f(at + c, c, io); });
}

/// x scale + offset, rounded alike in forward and in the backward passes that recompute the mask.
template <class V>
HWY_INLINE V affine(V x, V scale, V offset) {
  return hn::MulAdd(x, scale, offset);
}

/// Applied after the normalization. NaN propagates.
struct NoRelu {
  HWY_INLINE Vec operator()(Vec v) const { return v; }
};
struct Relu {
  HWY_INLINE Vec operator()(Vec v) const { return hn::IfThenZeroElse(hn::Le(v, hn::Zero(kFloats)), v); }
};
struct ReluBelow {
  Vec ceiling;
  HWY_INLINE Vec operator()(Vec v) const { return hn::IfThenElse(hn::Ge(v, ceiling), ceiling, Relu{}(v)); }
};

void apply_piece(const float* x, const BatchNormAffine& f, int64_t count, int64_t channels, bool streamed, float* y) {
  const auto pass = [&](auto has_addend, auto relu) HWY_ATTR {
    for_positions(count, channels, streamed, [&](int64_t at, int64_t c, auto io) HWY_ATTR {
      Vec v = affine(io.load(x + at), io.load(f.scale + c), io.load(f.offset + c));
      if constexpr (decltype(has_addend)::value) v = hn::Add(v, io.load(f.addend + at));
      io.store(relu(v), y + at);
    });
  };
  const auto with_relu = [&](auto has_addend) HWY_ATTR {
    if (!f.relu) return pass(has_addend, NoRelu{});
    f.ceiling == kNoCeiling ? pass(has_addend, Relu{}) : pass(has_addend, ReluBelow{splat(f.ceiling)});
  };
  f.addend != nullptr ? with_relu(std::true_type{}) : with_relu(std::false_type{});
}

/// Factors of dy as functions of (place, channel, io); constants(c, io) is loaded once per channel.
struct Unmasked {
  struct None {};
  template <class Io>
  HWY_INLINE None constants(int64_t, Io) const {
    return {};
  }
  template <class V, class Io>
  HWY_INLINE V operator()(V dy, V, int64_t, Io, None) const {
    return dy;
  }
};

/// Gradient of a ReLU without a ceiling, from its input or output v.
struct Open {
  template <class V>
  HWY_INLINE V backward(V v, V dy) const {
    return hn::IfThenElseZero(hn::Gt(v, hn::Zero(hn::DFromV<V>())), dy);
  }
};
struct OpenBelow {
  float ceiling;
  template <class V>
  HWY_INLINE V backward(V v, V dy) const {
    const auto d = hn::DFromV<V>();
    return hn::IfThenElseZero(hn::And(hn::Gt(v, hn::Zero(d)), hn::Lt(v, hn::Set(d, ceiling))), dy);
  }
};

template <class Gate>
struct MaskedByOutput {
  const float* output;
  Gate gate;
  struct None {};
  template <class Io>
  HWY_INLINE None constants(int64_t, Io) const {
    return {};
  }
  template <class V, class Io>
  HWY_INLINE V operator()(V dy, V, int64_t at, Io io, None) const {
    return gate.backward(io.load(output + at), dy);
  }
};

template <class Gate>
struct MaskedByInput {
  const float *scale, *offset;
  Gate gate;
  template <class V>
  struct Affine {
    V scale, offset;

    HWY_INLINE Affine() = default;
    HWY_INLINE Affine(V s, V o) : scale(s), offset(o) {}
  };
  template <class Io>
  HWY_INLINE auto constants(int64_t c, Io io) const {
    return Affine<decltype(io.load(scale))>{io.load(scale + c), io.load(offset + c)};
  }
  template <class V, class Io>
  HWY_INLINE V operator()(V dy, V x, int64_t, Io, const Affine<V>& f) const {
    return gate.backward(affine(x, f.scale, f.offset), dy);
  }
};

template <class F>
HWY_INLINE void with_gate(float ceiling, const F& f) {
  ceiling == kNoCeiling ? f(Open{}) : f(OpenBelow{ceiling});
}

template <class F>
HWY_INLINE void with_mask(const BatchNormGradient& g, const F& f) {
  if (g.output == nullptr && g.scale == nullptr) return f(Unmasked{});
  with_gate(g.ceiling, [&](auto gate) HWY_ATTR {
    if (g.output != nullptr)
      f(MaskedByOutput<decltype(gate)>{g.output, gate});
    else
      f(MaskedByInput<decltype(gate)>{g.scale, g.offset, gate});
  });
}

template <class OfMask>
struct GradientConstants {
  DoubleVec mean;
  OfMask of_mask;

  HWY_INLINE GradientConstants() = default;
  HWY_INLINE GradientConstants(DoubleVec m, OfMask o) : mean(m), of_mask(o) {}
};

/// Adds the first `count` positions to sum_dy[c] and to sum_dy_xhat[c], the latter without the factor inv_std.
void gradient_sums_piece(const BatchNormGradient& g, float* masked, int64_t count, int64_t channels, double* sum_dy,
                         double* sum_dy_xhat) {
  with_mask(g, [&](const auto& mask) HWY_ATTR {
    const auto constants_of = [&](int64_t c, auto io) HWY_ATTR {
      return GradientConstants(promoted(io.load(g.mean + c)), mask.constants(c, io));
    };
    const int64_t ahead = channels <= kAheadChannels ? kAheadPositions * channels : 0;
    sum_positions(count, channels, sum_dy, sum_dy_xhat, constants_of,
                  [&](int64_t at, auto io, const auto& constants) HWY_ATTR {
                    if (ahead > 0) {
                      hwy::Prefetch(g.x + at + ahead);
                      hwy::Prefetch(g.dy + at + ahead);
                      if (g.output != nullptr) hwy::Prefetch(g.output + at + ahead);
                    }
                    const HalfVec x = io.load(g.x + at), dy = mask(io.load(g.dy + at), x, at, io, constants.of_mask);
                    if (masked != nullptr) io.store(dy, masked + at);
                    return Terms{promoted(dy), hn::Sub(promoted(x), constants.mean)};
                  });
  });
}

void gradient_apply_piece(const BatchNormGradient& g, const float* gamma, const float* sum_dy, const float* sum_dy_xhat,
                          int64_t total, int64_t count, int64_t channels, float* dx) {
  const Vec share = splat(1.0F / static_cast<float>(total));
  with_mask(g, [&](const auto& mask) HWY_ATTR {
    for_positions(count, channels, false, [&](int64_t at, int64_t c, auto io) HWY_ATTR {
      const Vec x = io.load(g.x + at), dy = mask(io.load(g.dy + at), x, at, io, mask.constants(c, io));
      const Vec inv_std = io.load(g.inv_std + c), xhat = hn::Mul(hn::Sub(x, io.load(g.mean + c)), inv_std);
      const Vec common = hn::MulAdd(xhat, io.load(sum_dy_xhat + c), io.load(sum_dy + c));
      const Vec scale = gamma == nullptr ? inv_std : hn::Mul(io.load(gamma + c), inv_std);
      io.store(hn::Mul(scale, hn::NegMulAdd(common, share, dy)), dx + at);
    });
  });
}

void gradient_frozen_piece(const float* dy, const float* output, float ceiling, const float* scale, int64_t count,
                           int64_t channels, float* dx) {
  const auto pass = [&](const auto& mask) HWY_ATTR {
    for_positions(count, channels, false, [&](int64_t at, int64_t c, auto io) HWY_ATTR {
      const Vec v = io.load(dy + at);
      io.store(hn::Mul(mask(v, v, at, io, mask.constants(c, io)), io.load(scale + c)), dx + at);
    });
  };
  if (output == nullptr) return pass(Unmasked{});
  with_gate(ceiling, [&](auto gate) HWY_ATTR { pass(MaskedByOutput<decltype(gate)>{output, gate}); });
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

/// Doubles per step of positions in the workspace, for one of the two sums.
int64_t padded_channels(int64_t channels) { return channels + kChannelPadding; }

/// Whole cache lines only: two threads must not write to the same line.
bool streams(const float* y, int64_t positions, int64_t channels) {
  return positions * channels >= kStreamElements && channels % 16 == 0 && reinterpret_cast<uintptr_t>(y) % 64 == 0;
}

/// The sums of the step that contains position `begin`; clears them where the step begins.
double* sums_of(int64_t begin, int64_t positions, int64_t channels, double* workspace) {
  const int64_t step = batch_norm_step(positions, channels), padded = padded_channels(channels);
  double* const sums = workspace + begin / step * 2 * padded;
  if (begin % step == 0) std::fill_n(sums, 2 * padded, 0.0);
  return sums;
}

void apply_range(const float* x, BatchNormAffine affine, int64_t begin, int64_t end, int64_t channels, bool streamed,
                 float* y) {
  const int64_t at = begin * channels;
  if (affine.addend != nullptr) affine.addend += at;
  HWY_DYNAMIC_DISPATCH(apply_piece)(x + at, affine, end - begin, channels, streamed, y + at);
}

BatchNormGradient moved(BatchNormGradient g, int64_t floats) {
  g.x += floats;
  g.dy += floats;
  if (g.output != nullptr) g.output += floats;
  return g;
}

}  // namespace

int64_t batch_norm_step(int64_t positions, int64_t channels) { return rows_per_partial(positions, channels); }

int64_t batch_norm_workspace(int64_t positions, int64_t channels) {
  return 2 * padded_channels(channels) * pieces_of(positions, batch_norm_step(positions, channels));
}

void batch_norm_add(const float* x, int64_t begin, int64_t end, int64_t positions, int64_t channels,
                    double* workspace) {
  const int64_t step = batch_norm_step(positions, channels);
  for (int64_t first = begin, last = 0; first < end; first = last) {
    last = std::min(end, (first / step + 1) * step);
    double* const sums = sums_of(first, positions, channels, workspace);
    HWY_DYNAMIC_DISPATCH(sums_piece)
    (x + first * channels, last - first, channels, sums, sums + padded_channels(channels));
  }
}

void batch_norm_add_up(int64_t positions, int64_t channels, const double* workspace, double* first, double* second) {
  const int64_t padded = padded_channels(channels), size = batch_norm_workspace(positions, channels);
  std::fill_n(first, channels, 0.0);
  std::fill_n(second, channels, 0.0);
  for (const double* sums = workspace; sums < workspace + size; sums += 2 * padded) {
    for (int64_t c = 0; c < channels; ++c) {
      first[c] += sums[c];
      second[c] += sums[padded + c];
    }
  }
}

void batch_norm_sums(const float* x, int64_t positions, int64_t channels, double* workspace, double* sum,
                     double* sum_sq) {
  parallel_ranges(positions, batch_norm_step(positions, channels),
                  [&](int64_t begin, int64_t end) { batch_norm_add(x, begin, end, positions, channels, workspace); });
  batch_norm_add_up(positions, channels, workspace, sum, sum_sq);
}

void batch_norm_moments(const double* sum, const double* sum_sq, int64_t total, float epsilon, int64_t channels,
                        float* mean, float* variance, float* inv_std) {
  const double share = total > 0 ? 1.0 / static_cast<double>(total) : 0.0;
  for (int64_t c = 0; c < channels; ++c) {
    const double m = sum[c] * share, v = sum_sq[c] * share - m * m;
    mean[c] = static_cast<float>(m);
    variance[c] = v < 0.0 ? 0.0F : static_cast<float>(v);  // keeps NaN
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

void batch_norm_apply_piece(const float* x, const BatchNormAffine& affine, int64_t begin, int64_t end, int64_t channels,
                            float* y) {
  apply_range(x, affine, begin, end, channels, false, y);
}

void batch_norm_apply(const float* x, const BatchNormAffine& affine, int64_t positions, int64_t channels, float* y) {
  const bool streamed = affine.non_temporal && streams(y, positions, channels);
  parallel_ranges(positions, rows_per_piece(channels),
                  [&](int64_t begin, int64_t end) { apply_range(x, affine, begin, end, channels, streamed, y); });
}

void batch_norm_gradient_sums(const BatchNormGradient& gradient, int64_t positions, int64_t channels, double* workspace,
                              double* sum_dy, double* sum_dy_xhat, float* masked) {
  parallel_ranges(positions, batch_norm_step(positions, channels), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * channels;
    double* const sums = sums_of(begin, positions, channels, workspace);
    HWY_DYNAMIC_DISPATCH(gradient_sums_piece)
    (moved(gradient, at), masked == nullptr ? nullptr : masked + at, end - begin, channels, sums,
     sums + padded_channels(channels));
  });
  batch_norm_add_up(positions, channels, workspace, sum_dy, sum_dy_xhat);
  for (int64_t c = 0; c < channels; ++c) sum_dy_xhat[c] *= static_cast<double>(gradient.inv_std[c]);
}

void batch_norm_gradient_apply(const BatchNormGradient& gradient, const float* gamma, const float* sum_dy,
                               const float* sum_dy_xhat, int64_t total, int64_t positions, int64_t channels,
                               float* dx) {
  parallel_ranges(positions, rows_per_piece(channels), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * channels;
    HWY_DYNAMIC_DISPATCH(gradient_apply_piece)
    (moved(gradient, at), gamma, sum_dy, sum_dy_xhat, total, end - begin, channels, dx + at);
  });
}

void batch_norm_gradient_frozen(const float* dy, const float* output, float ceiling, const float* scale,
                                int64_t positions, int64_t channels, float* dx) {
  parallel_ranges(positions, rows_per_piece(channels), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * channels;
    HWY_DYNAMIC_DISPATCH(gradient_frozen_piece)
    (dy + at, output == nullptr ? nullptr : output + at, ceiling, scale, end - begin, channels, dx + at);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
