#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/first_conv.h"
#include "kernels/cpu/first_conv_lines.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_FIRST_CONV_BACKWARD_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_FIRST_CONV_BACKWARD_ONCE
namespace dptrain::kernels::cpu {

struct FirstConvGradient {
  ConvWindow window;
  const float* x;
  const float* dy;        ///< with argmax: gradient of the pooled output
  const uint8_t* argmax;  ///< or null
  int64_t wide;           ///< output channels rounded up to vectors
  int64_t pixels;         ///< pixels of a line processed at once; even with `argmax`
  LineBlocks blocks;
  InputBlocks input;
};

/// The gradient of `pixels` of some output lines, `wide` floats each, and the input of these lines.
struct GradientBlock {
  InputLines in;
  const float* dy;
  int64_t lines, pixels;
  int64_t dy_line;  ///< floats between lines of dy
  int64_t ahead;    ///< prefetch distance of dy in floats
};

/// 8 KiB. Multiply-adds that wait for a gradient delay the next loads: 44 MB take 1.7 ms, without prefetching 4.5 ms.
constexpr int64_t kAheadFloats = 2048;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/first_conv_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// A tile of the gradient is some neighbouring taps of kRows rows of the window times kVectors vectors of channels. Its
// sums stay in registers while it reads the gradient of a block, which fits the L1 cache.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64  // 32 registers
inline constexpr int kMaxTaps = 14;
inline constexpr bool kThreeRows = true;
#else  // 16
inline constexpr int kMaxTaps = 6;
inline constexpr bool kThreeRows = false;
#endif
inline constexpr int kMaxTapsOfFour = 3;  // limit with four vectors or three rows

/// sums[row * taps of a row + tap][channel] += products of the block; with kBias, bias[channel] too.
template <int kRows, int kTaps, int kVectors, bool kBias>
HWY_NOINLINE void gradient_tile(const FirstConvGradient& job, const GradientBlock& block, const float* x,
                                const float* HWY_RESTRICT dy, float* HWY_RESTRICT sums, float* HWY_RESTRICT bias) {
  const ConvWindow& w = job.window;
  const int64_t step = w.stride_w * w.in_channels, wide = job.wide, row = w.kernel_w * w.in_channels * wide;
  Vec sum[kRows][kTaps][kVectors], total[kVectors];
  for (auto& of_row : sum)
    for (auto& of_tap : of_row)
      for (Vec& v : of_tap) v = hn::Zero(kFloats);
  for (Vec& v : total) v = hn::Zero(kFloats);
  for (int64_t line = 0; line < block.lines; ++line, x += w.stride_h * block.in.stride, dy += block.dy_line) {
    const float *pixel = x, *gradient = dy;
    for (int64_t i = 0; i < block.pixels; ++i, pixel += step, gradient += wide) {
      Vec g[kVectors];
      for (int v = 0; v < kVectors; ++v) g[v] = hn::LoadU(kFloats, gradient + v * kLanes);
      for (int v = 0; kBias && v < kVectors; ++v) {
        hwy::Prefetch(gradient + block.ahead + v * kLanes);
        total[v] = hn::Add(total[v], g[v]);
      }
      for (int r = 0; r < kRows; ++r)
        for (int t = 0; t < kTaps; ++t) {
          const Vec value = splat(pixel[r * block.in.stride + t]);
          for (int v = 0; v < kVectors; ++v) sum[r][t][v] = hn::MulAdd(value, g[v], sum[r][t][v]);
        }
    }
  }
  const auto add = [](Vec v, float* to) HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(kFloats, to), v), kFloats, to); };
  for (int v = 0; v < kVectors; ++v) {
    for (int r = 0; r < kRows; ++r)
      for (int t = 0; t < kTaps; ++t) add(sum[r][t][v], sums + r * row + t * wide + v * kLanes);
    if (kBias) add(total[v], bias + v * kLanes);
  }
}

/// Calls f(std::integral_constant<int, n>) for n in [1, kMax].
template <int kMax, class F>
HWY_INLINE void with_count(int64_t n, const F& f) {
  if constexpr (kMax > 1)
    if (n < kMax) return with_count<kMax - 1>(n, f);
  f(std::integral_constant<int, kMax>{});
}

/// All taps of a group of channels. The first tile also sums the gradient of the bias.
template <int kRows, int kMax, int kVectors>
HWY_INLINE void gradient_group(const FirstConvGradient& job, const GradientBlock& block, int64_t channel, float* sums) {
  const ConvWindow& w = job.window;
  const int64_t row_taps = w.kernel_w * w.in_channels, tiles = pieces_of(row_taps, kMax);
  float* const bias = sums + w.taps() * job.wide + channel;
  for (int64_t row = 0; row < w.kernel_h; row += kRows)
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t tap = row_taps * t / tiles;
      const float* const x = block.in.first + row * block.in.stride + tap;
      float* const to = sums + (row * row_taps + tap) * job.wide + channel;
      with_count<kMax>(row_taps * (t + 1) / tiles - tap, [&](auto n) HWY_ATTR {
        constexpr int kTaps = decltype(n)::value;
        if (row == 0 && tap == 0)
          gradient_tile<kRows, kTaps, kVectors, true>(job, block, x, block.dy + channel, to, bias);
        else
          gradient_tile<kRows, kTaps, kVectors, false>(job, block, x, block.dy + channel, to, bias);
      });
    }
}

template <int kRows, int kMax>
HWY_INLINE void gradient_pairs(const FirstConvGradient& job, const GradientBlock& block, int64_t channel, float* sums) {
  for (; channel + 2 * kLanes <= job.wide; channel += 2 * kLanes)
    gradient_group<kRows, kMax, 2>(job, block, channel, sums);
  if (channel < job.wide) gradient_group<kRows, kMax, 1>(job, block, channel, sums);
}

HWY_INLINE void gradient_block(const FirstConvGradient& job, const GradientBlock& block, float* sums) {
  const ConvWindow& w = job.window;
  const bool few = w.kernel_w * w.in_channels <= kMaxTapsOfFour;
  if (few && kThreeRows && w.kernel_h % 3 == 0) return gradient_pairs<3, kMaxTapsOfFour>(job, block, 0, sums);
  int64_t channel = 0;
  if (few)
    for (; channel + 4 * kLanes <= job.wide; channel += 4 * kLanes)
      gradient_group<1, kMaxTapsOfFour, 4>(job, block, channel, sums);
  gradient_pairs<1, kMaxTaps>(job, block, channel, sums);
}

/// Expands a line of the pooled gradient to two lines: [2][2 * pixels][wide].
HWY_INLINE void expand_pairs(const float* dy, const uint8_t* argmax, int64_t pixels, int64_t channels, int64_t wide,
                             float* to) {
  const int64_t line = 2 * pixels * wide;
  const int64_t places[4] = {0, wide, line, line + wide};
  for (int64_t i = 0; i < pixels; ++i, dy += channels, argmax += channels, to += 2 * wide) {
    sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
      const Vec g = io.load(dy + c);
      const IntVec where = io.load(argmax + c);
      for (int k = 0; k < 4; ++k)  // load() fills channels beyond the last with zeros
        hn::StoreU(hn::IfThenElseZero(float_mask(hn::Eq(where, hn::Set(kInts, k))), g), kFloats, to + places[k] + c);
    });
  }
}

/// Copies pixels of `channels` floats to pixels of `wide` floats, padded with zeros.
HWY_INLINE void copy_wide(const float* from, int64_t pixels, int64_t channels, int64_t wide, float* to) {
  for (int64_t i = 0; i < pixels; ++i, from += channels, to += wide)
    sweep(channels, [&](int64_t c, auto io) HWY_ATTR { hn::StoreU(io.load(from + c), kFloats, to + c); });
}

/// Pixels [first, first + pixels) of the lines of the block: in place, or copied to `scratch`, `wide` floats each.
HWY_INLINE GradientBlock gradient_of(const FirstConvGradient& job, const LineBlock& block, const InputLines& in,
                                     int64_t first, int64_t pixels, float* scratch) {
  const ConvWindow& w = job.window;
  const int64_t lines = job.argmax == nullptr ? 1 : 2, channels = w.out_channels;
  const int64_t line = w.out_w / lines * channels;
  const int64_t from = (block.image * job.blocks.lines + block.first) * line + first / lines * channels;
  GradientBlock found{.in = {in.first + first * w.stride_w * w.in_channels, in.stride},
                      .dy = scratch,
                      .lines = lines * block.count,
                      .pixels = pixels,
                      .dy_line = pixels * job.wide,
                      .ahead = 0};
  if (lines == 1 && job.wide == channels) {
    found.dy = job.dy + from;
    found.dy_line = line;
    found.ahead = kAheadFloats;
    return found;
  }
  for (int64_t i = 0; i < block.count; ++i, scratch += lines * pixels * job.wide) {
    if (lines == 2)
      expand_pairs(job.dy + from + i * line, job.argmax + from + i * line, pixels / 2, channels, job.wide, scratch);
    else
      copy_wide(job.dy + from + i * line, pixels, channels, job.wide, scratch);
  }
  return found;
}

/// sums [taps + 1, wide] of blocks [begin, end) of the batch; the last line is the gradient of the bias.
void first_gradient_piece(const FirstConvGradient& job, int64_t begin, int64_t end, float* scratch, float* sums) {
  const ConvWindow& w = job.window;
  const int64_t lines = job.argmax == nullptr ? 1 : 2, width = w.out_w / lines * lines;
  std::memset(sums, 0, static_cast<size_t>((w.taps() + 1) * job.wide) * sizeof(float));
  for (int64_t b = begin; b < end; ++b) {
    const LineBlock block = job.blocks.at(b);
    const InputLines in = job.input.at(job.x, block.image, lines * block.first, lines * block.count, scratch);
    for (int64_t first = 0; first < width; first += job.pixels) {
      const int64_t pixels = std::min(job.pixels, width - first);
      gradient_block(job, gradient_of(job, block, in, first, pixels, scratch + job.input.scratch()), sums);
    }
  }
}

int64_t first_gradient_wide(int64_t channels) { return (channels + kLanes - 1) / kLanes * kLanes; }

/// to[c] = sum over `count` parts, `stride` floats apart, in order.
void first_gradient_sum(const float* parts, int64_t count, int64_t stride, int64_t channels, float* to) {
  sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
    Vec sum = hn::Zero(kFloats);
    for (int64_t i = 0; i < count; ++i) sum = hn::Add(sum, io.load(parts + i * stride + c));
    io.store(sum, to + c);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(first_gradient_piece);
HWY_EXPORT(first_gradient_wide);
HWY_EXPORT(first_gradient_sum);

namespace {

/// Floats of a gradient processed at once: 24 KiB stay in the L1 cache while each tile of taps reads them.
constexpr int64_t kBlockFloats = 6144;

/// Layout of partial gradients and split of the batch; depends only on the shape and the number of rows.
struct GradientPlan {
  int64_t wide, lines, pixels, block_lines, scratch, pieces, blocks_per_piece, part;

  GradientPlan(const ConvWindow& w, bool pool, int64_t rows)
      : wide(HWY_DYNAMIC_DISPATCH(first_gradient_wide)(w.out_channels)), lines(pool ? 2 : 1) {
    const int64_t width = std::max(lines, w.out_w);
    pixels = std::clamp(kBlockFloats / (lines * wide) / lines * lines, lines, width);
    block_lines = LineBlocks(w.out_h / lines, kBlockFloats / (lines * width * wide)).size;
    const int64_t copied = pool || wide != w.out_channels ? lines * block_lines * pixels * wide : 0;
    scratch = pieces_of(InputBlocks(w, lines * block_lines).scratch() + copied, kPad) * kPad;
    part = pieces_of((w.taps() + 1) * wide, kPad) * kPad;
    const int64_t blocks = rows * LineBlocks(w.out_h / lines, block_lines).per_image;
    blocks_per_piece = std::max<int64_t>(1, rows_per_partial(blocks, lines * block_lines * width * wide));
    pieces = pieces_of(blocks, blocks_per_piece);
  }
  int64_t workspace(int slots) const { return pieces * part + slots * scratch; }

 private:
  static constexpr int64_t kPad = 16;  // a cache line
};

}  // namespace

int64_t first_conv_gradient_workspace(const ConvWindow& window, bool pool, int64_t rows, int slots) {
  return GradientPlan(window, pool, rows).workspace(slots);
}

void first_conv_backward_weights(const ConvWindow& window, const float* x, const float* dy, const uint8_t* argmax,
                                 int64_t rows, float* workspace, float* dweights, float* dbias) {
  const GradientPlan plan(window, argmax != nullptr, rows);
  const FirstConvGradient job{.window = window,
                              .x = x,
                              .dy = dy,
                              .argmax = argmax,
                              .wide = plan.wide,
                              .pixels = plan.pixels,
                              .blocks = LineBlocks(window.out_h / plan.lines, plan.block_lines),
                              .input = InputBlocks(window, plan.lines * plan.block_lines)};
  const int64_t blocks = rows * job.blocks.per_image, size = plan.blocks_per_piece;
  float* const scratches = workspace + plan.pieces * plan.part;
  parallel_slots(plan.pieces, [&](int64_t piece, int slot) {
    HWY_DYNAMIC_DISPATCH(first_gradient_piece)
    (job, piece * size, std::min(blocks, (piece + 1) * size), scratches + slot * plan.scratch,
     workspace + piece * plan.part);
  });
  parallel_for(window.taps() + 1, [&](int64_t tap) {
    float* const to = tap < window.taps() ? dweights + tap * window.out_channels : dbias;
    if (to == nullptr) return;
    HWY_DYNAMIC_DISPATCH(first_gradient_sum)
    (workspace + tap * plan.wide, plan.pieces, plan.part, window.out_channels, to);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
