#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/cpu/first_conv.h"
#include "kernels/cpu/first_conv_lines.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/processor.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_FIRST_CONV_FORWARD_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_FIRST_CONV_FORWARD_ONCE
namespace dptrain::kernels::cpu {

struct FirstConvForward {
  ConvWindow window;
  bool relu, pool;
  bool past_caches;    ///< y exceeds the caches: whole vectors use non-temporal stores
  const float* panel;  ///< weights and bias, packed by pack_piece()
  const float* x;
  float* y;
  uint8_t* argmax;  ///< or null
  LineBlocks blocks;
  InputBlocks input;
};

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/first_conv_forward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/pool-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// A tile is kPixels neighbours of a line (or of two lines) times kVectors vectors of channels; all sums are in
// registers. The usual input steps between pixels are constants: twelve pointers would not fit the registers.
inline constexpr int kVectors = 2;
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64  // 32 registers
inline constexpr int kMaxPixels = 12;
inline constexpr int kMaxPairs = 3;
#else  // 16
inline constexpr int kMaxPixels = 6;
inline constexpr int kMaxPairs = 1;
#endif
inline constexpr int kMaxPixelsOfAnyStep = 6;

/// Channels of a group of vectors, and their packed weights: [tap][vectors], then the bias.
struct ChannelGroup {
  int64_t channel;   ///< the first one
  int64_t channels;  ///< from `channel` to the last one
  const float* weights;
};

/// Packs group by group; weights and bias of channels beyond the last are zero.
void pack_piece(const ConvWindow& w, const float* weights, const float* bias, float* panel) {
  const int64_t taps = w.taps();
  for (int64_t c = 0; c < w.out_channels; c += kVectors * kLanes) {
    const int64_t rest = w.out_channels - c;
    const int64_t wide = rest > kLanes ? kVectors * kLanes : kLanes, used = std::min(rest, wide);
    for (int64_t tap = 0; tap <= taps; ++tap, panel += wide) {
      const float* from = tap < taps ? weights + tap * w.out_channels : bias;
      for (int64_t i = 0; i < wide; ++i) panel[i] = i < used && from != nullptr ? from[c + i] : 0.0F;
    }
  }
}

/// Keeps the compiler from reusing values read through `p` in the next iteration: it would move inputs that
/// neighbouring pixels share through memory, to save loads that are free.
HWY_INLINE void forget_reads(const float*& p) { asm volatile("" : "+r"(p)); }

/// sums[line * kPixels + pixel][vector] of a tile.
template <int kLines, int kPixels, int kWide, int kStep>
HWY_INLINE void multiply_tile(const ConvWindow& w, const InputLines& in, const float* x,
                              const float* HWY_RESTRICT weights, Vec (&sums)[kLines * kPixels][kWide]) {
  const int64_t step = kStep > 0 ? kStep : w.stride_w * w.in_channels, below = w.stride_h * in.stride;
  const int64_t row_taps = w.kernel_w * w.in_channels;
  const float* const bias = weights + w.taps() * kWide * kLanes;
  for (int v = 0; v < kWide; ++v)
    for (auto& sum : sums) sum[v] = hn::LoadU(kFloats, bias + v * kLanes);
  for (int64_t row = 0; row < w.kernel_h; ++row, x += in.stride) {
    const float* from = x;
    for (int64_t tap = 0; tap < row_taps; ++tap, ++from, weights += kWide * kLanes) {
      forget_reads(from);
      Vec weight[kWide];
      for (int v = 0; v < kWide; ++v) weight[v] = hn::LoadU(kFloats, weights + v * kLanes);
      for (int line = 0; line < kLines; ++line)
        for (int p = 0; p < kPixels; ++p) {
          const Vec pixel = splat(from[line * below + p * step]);
          auto& sum = sums[line * kPixels + p];
          for (int v = 0; v < kWide; ++v) sum[v] = hn::MulAdd(pixel, weight[v], sum[v]);
        }
    }
  }
}

HWY_INLINE Vec rectified(Vec v) { return hn::IfThenZeroElse(hn::Le(v, hn::Zero(kFloats)), v); }  // keeps NaN

/// Calls f(vector, io) for those of the kWide vectors that hold a channel.
template <int kWide, class F>
HWY_INLINE void each_vector(int64_t channels, const F& f) {
  if constexpr (kWide == 2) {
    f(0, Whole{});
    channels -= kLanes;
  }
  if (channels >= kLanes)
    f(kWide - 1, Whole{});
  else
    f(kWide - 1, Partial{channels});
}

template <int kPixels, int kWide, int kStep>
HWY_INLINE void plain_tile(const FirstConvForward& job, const InputLines& in, const float* x, const ChannelGroup& group,
                           float* y) {
  Vec sums[kPixels][kWide];
  multiply_tile<1, kPixels, kWide, kStep>(job.window, in, x, group.weights, sums);
  const int64_t channels = job.window.out_channels;
  if (job.relu)
    for (auto& sum : sums)
      for (Vec& v : sum) v = rectified(v);
  if (job.past_caches) {
    for (int p = 0; p < kPixels; ++p)
      for (int v = 0; v < kWide; ++v) hn::Stream(sums[p][v], kFloats, y + p * channels + v * kLanes);
    return;
  }
  each_vector<kWide>(group.channels, [&](int v, auto io) HWY_ATTR {
    for (int p = 0; p < kPixels; ++p) io.store(sums[p][v], y + p * channels + v * kLanes);
  });
}

/// The largest value of the window and its index, as a max-pooling of the stored output would find them.
template <class Io>
HWY_INLINE void store_largest(const Vec (&values)[4], bool relu, bool past_caches, Io io, float* y, uint8_t* argmax) {
  Best upper(values[0], 0), lower(values[2], 2);
  upper.update_max(values[1], 1);
  lower.update_max(values[3], 3);
  const auto below = hn::Gt(lower.value, upper.value);
  const Vec largest = hn::IfThenElse(below, lower.value, upper.value);
  const Vec value = relu ? rectified(largest) : largest;
  if (past_caches)
    hn::Stream(value, kFloats, y);
  else
    io.store(value, y);
  if (argmax == nullptr) return;
  IntVec where = hn::IfThenElse(hn::RebindMask(kInts, below), lower.index, upper.index);
  if (relu)
    where = hn::IfThenElse(hn::RebindMask(kInts, hn::Le(largest, hn::Zero(kFloats))), hn::Set(kInts, kNoArgmax), where);
  io.store(where, argmax);
}

template <int kPairs, int kWide, int kStep>
HWY_INLINE void pooled_tile(const FirstConvForward& job, const InputLines& in, const float* x,
                            const ChannelGroup& group, float* y, uint8_t* argmax) {
  Vec sums[4 * kPairs][kWide];
  multiply_tile<2, 2 * kPairs, kWide, kStep>(job.window, in, x, group.weights, sums);
  const int64_t channels = job.window.out_channels;
  const bool relu = job.relu, past_caches = job.past_caches;
  each_vector<kWide>(group.channels, [&](int v, auto io) HWY_ATTR {
    for (int p = 0; p < kPairs; ++p) {
      const int upper = 2 * p, lower = 2 * (kPairs + p);
      const Vec values[4] = {sums[upper][v], sums[upper + 1][v], sums[lower][v], sums[lower + 1][v]};
      const int64_t at = p * channels + v * kLanes;
      store_largest(values, relu, past_caches, io, y + at, argmax == nullptr ? nullptr : argmax + at);
    }
  });
}

/// Calls f(std::integral_constant<int, n>) for n in [1, kMax].
template <int kMax, class F>
HWY_INLINE void with_count(int64_t n, const F& f) {
  if constexpr (kMax > 1)
    if (n < kMax) return with_count<kMax - 1>(n, f);
  f(std::integral_constant<int, kMax>{});
}

/// One line of the output, cut into tiles of about equal width.
template <int kWide, int kStep>
HWY_NOINLINE void output_line(const FirstConvForward& job, const InputLines& in, const ChannelGroup& group, float* y,
                              uint8_t* argmax) {
  constexpr int kMax = kStep > 0 ? kMaxPixels : kMaxPixelsOfAnyStep;
  constexpr int kPairs = std::min(kMaxPairs, kMax / 4 + 1);
  const ConvWindow& w = job.window;
  const int64_t width = job.pool ? w.out_w / 2 : w.out_w;
  const int64_t tiles = pieces_of(width, job.pool ? kPairs : kMax), step = w.stride_w * w.in_channels;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t begin = width * t / tiles, count = width * (t + 1) / tiles - begin;
    const int64_t to = begin * w.out_channels + group.channel;
    if (job.pool)
      with_count<kPairs>(count, [&](auto n) HWY_ATTR {
        pooled_tile<decltype(n)::value, kWide, kStep>(job, in, in.first + 2 * begin * step, group, y + to,
                                                      argmax == nullptr ? nullptr : argmax + to);
      });
    else
      with_count<kMax>(count, [&](auto n) HWY_ATTR {
        plain_tile<decltype(n)::value, kWide, kStep>(job, in, in.first + begin * step, group, y + to);
      });
  }
}

template <int kStep>
HWY_INLINE void output_lines(const FirstConvForward& job, const InputLines& in, float* y, uint8_t* argmax) {
  const ConvWindow& w = job.window;
  ChannelGroup group{0, 0, job.panel};
  for (; group.channel < w.out_channels; group.channel += kVectors * kLanes) {
    group.channels = w.out_channels - group.channel;
    if (group.channels > kLanes)
      output_line<kVectors, kStep>(job, in, group, y, argmax);
    else
      output_line<1, kStep>(job, in, group, y, argmax);
    group.weights += (w.taps() + 1) * kVectors * kLanes;
  }
}

void first_forward_piece(const FirstConvForward& job, int64_t begin, int64_t end, float* scratch) {
  const ConvWindow& w = job.window;
  const int64_t lines = job.pool ? 2 : 1, step = w.stride_w * w.in_channels;
  const int64_t out_line = w.out_w / lines * w.out_channels;
  for (int64_t b = begin; b < end; ++b) {
    const LineBlock block = job.blocks.at(b);
    InputLines in = job.input.at(job.x, block.image, lines * block.first, lines * block.count, scratch);
    for (int64_t line = 0; line < block.count; ++line, in.first += lines * w.stride_h * in.stride) {
      const int64_t to = (block.image * job.blocks.lines + block.first + line) * out_line;
      uint8_t* const argmax = job.argmax == nullptr ? nullptr : job.argmax + to;
      switch (step) {
        case 1: output_lines<1>(job, in, job.y + to, argmax); break;
        case 3: output_lines<3>(job, in, job.y + to, argmax); break;
        case 6: output_lines<6>(job, in, job.y + to, argmax); break;
        case 9: output_lines<9>(job, in, job.y + to, argmax); break;
        default: output_lines<0>(job, in, job.y + to, argmax);
      }
    }
  }
  if (job.past_caches) hwy::FlushStream();
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(pack_piece);
HWY_EXPORT(first_forward_piece);

namespace {

constexpr int64_t kMaxLanes = 16;  // channels are rounded up to vectors, at most those of AVX-512

int64_t panel_floats(const ConvWindow& w) { return (w.taps() + 1) * pieces_of(w.out_channels, kMaxLanes) * kMaxLanes; }

/// Normal stores read each line first: 512 images of 28x28 to 32 channels (44 MB) take 6.5 ms, with this 2.7 ms.
bool writes_past_caches(int64_t floats, int64_t channels, const float* y) {
  return floats * static_cast<int64_t>(sizeof(float)) > bytes_found_in_caches() && channels % kMaxLanes == 0 &&
         reinterpret_cast<uintptr_t>(y) % 64 == 0;
}

/// Lines of a block (pairs of lines with pooling): an eighth of a piece, so that their input fits the L1 cache.
int64_t block_lines(const ConvWindow& w) { return rows_per_piece(8 * w.out_w * w.out_channels); }

void run(const ConvWindow& w, const float* x, const float* weights, const float* bias, bool relu, bool pool,
         int64_t rows, float* workspace, float* y, uint8_t* argmax) {
  const int64_t lines = pool ? w.out_h / 2 : w.out_h;
  if (lines == 0 || (pool && w.out_w < 2)) return;
  HWY_DYNAMIC_DISPATCH(pack_piece)(w, weights, bias, workspace);
  const int64_t floats = rows * lines * (pool ? w.out_w / 2 : w.out_w) * w.out_channels;
  const FirstConvForward job{.window = w,
                             .relu = relu,
                             .pool = pool,
                             .past_caches = writes_past_caches(floats, w.out_channels, y),
                             .panel = workspace,
                             .x = x,
                             .y = y,
                             .argmax = argmax,
                             .blocks = LineBlocks(lines, block_lines(w)),
                             .input = InputBlocks(w, 2 * block_lines(w))};
  float* const scratches = workspace + panel_floats(w);
  const int64_t blocks = rows * job.blocks.per_image;
  const int64_t size = rows_per_piece(job.blocks.size * w.out_w * w.out_channels);
  parallel_slots(pieces_of(blocks, size), [&](int64_t piece, int slot) {
    HWY_DYNAMIC_DISPATCH(first_forward_piece)
    (job, piece * size, std::min(blocks, (piece + 1) * size), scratches + slot * job.input.scratch());
  });
}

}  // namespace

int64_t first_conv_workspace(const ConvWindow& window, int slots) {
  return panel_floats(window) + slots * InputBlocks(window, 2 * block_lines(window)).scratch();
}

void first_conv_forward(const ConvWindow& window, const float* x, const float* weights, const float* bias, bool relu,
                        int64_t rows, float* workspace, float* y) {
  run(window, x, weights, bias, relu, false, rows, workspace, y, nullptr);
}

void first_conv_pool_forward(const ConvWindow& window, const float* x, const float* weights, const float* bias,
                             bool relu, int64_t rows, float* workspace, float* pooled, uint8_t* argmax) {
  run(window, x, weights, bias, relu, true, rows, workspace, pooled, argmax);
}

}  // namespace dptrain::kernels::cpu
#endif
