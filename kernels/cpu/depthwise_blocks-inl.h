// Depthwise convolution with one filter per channel and windows of up to five taps without dilation. Computes all
// channels of a block of neighbouring elements before the next block. Thus memory is accessed pixel by pixel, and the
// block loads a source pixel once per row of the window.

#if defined(DPTRAIN_KERNELS_CPU_DEPTHWISE_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_DEPTHWISE_BLOCKS_INL_H
#undef DPTRAIN_KERNELS_CPU_DEPTHWISE_BLOCKS_INL_H
#else
#define DPTRAIN_KERNELS_CPU_DEPTHWISE_BLOCKS_INL_H
#endif

#include <utility>

#include "kernels/cpu/depthwise_taps.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

#define DPTRAIN_UNROLL_TAPS _Pragma("GCC unroll 24")

/// A row of the window: kTaps taps that read source pixels kStep apart (forward 1, backward -1). Neighbouring elements
/// of a block are kAdvance source pixels apart.
template <int kTapsOfRow, int kStepOfTaps, int kAdvanceOfElements>
struct RowTaps {
  static constexpr int kTaps = kTapsOfRow, kStep = kStepOfTaps, kAdvance = kAdvanceOfElements;
  /// Source pixels that a block reads, counted in the direction of the taps.
  static constexpr int pixels(int count) { return (count - 1) * kAdvance + kTaps; }
  /// Offset of the first of them from the pixel that the first tap of the first element reads.
  static constexpr int first(int count) { return kStep > 0 ? 0 : count - 1; }
  /// The tap with which element `b` reads pixel number `p`; no tap if outside [0, kTaps).
  static constexpr int tap(int count, int p, int b) { return kStep > 0 ? p - b * kAdvance : p - (count - 1 - b); }
};

/// First pixel and taps of an element, and strides in floats. Copies, because stores may alias the line.
struct BlockWalk {
  const float *pixel, *taps, *bias;
  int64_t rows, next_line, next_taps, next_pixel, next_tap, channels;
  bool relu;

  HWY_INLINE BlockWalk(const DepthwiseLine& l, const Taps& columns)
      : pixel(l.source(0) + columns.in * l.in_channels),
        taps(l.taps(0) + columns.tap * l.weight_channels),
        bias(l.bias),
        rows(l.rows.count),
        next_line(l.rows.in_step * l.in_w * l.in_channels),
        next_taps(l.rows.tap_step * l.kernel_w * l.weight_channels),
        next_pixel(l.in_channels),
        next_tap(columns.tap_step * l.weight_channels),
        channels(l.channels),
        relu(l.relu) {}

  template <class Io>
  HWY_INLINE Vec start(int64_t c, Io io) const {
    return bias == nullptr ? hn::Zero(kFloats) : io.load(bias + c);
  }
  HWY_INLINE Vec end(Vec v) const {
    return relu ? hn::IfThenZeroElse(hn::Le(v, hn::Zero(kFloats)), v) : v;  // keeps NaN
  }
};

// Unrolled loops are folds over sequences: compilers do not unroll all nested loops of constant size.
template <int kCount>
using Sequence = std::make_integer_sequence<int, kCount>;

template <class Row, int k>
HWY_INLINE void add_tap(Vec source, const Vec* weight, Vec& sum) {
  if constexpr (k >= 0 && k < Row::kTaps) sum = hn::MulAdd(source, weight[k], sum);
}

/// Adds the products of the next pixel to all elements that read it.
template <class Row, int kCount, int p, class Io, int... b>
HWY_INLINE void add_pixel(const float*& pixel, int64_t next, Io io, const Vec* weight, Vec* sum,
                          std::integer_sequence<int, b...>) {
  const Vec source = io.load(pixel);
  pixel += next;
  (add_tap<Row, Row::tap(kCount, p, b)>(source, weight, sum[b]), ...);
}

template <class Row, int kCount, class Io, int... p>
HWY_INLINE void add_row(const float* pixel, int64_t next, Io io, const Vec* weight, Vec* sum,
                        std::integer_sequence<int, p...>) {
  (add_pixel<Row, kCount, p>(pixel, next, io, weight, sum, Sequence<kCount>()), ...);
}

/// Prefetches, spread over the channels c, a block of `kCount` pixels at `block`: the line that the next line of the
/// result reads, too far ahead for the hardware prefetcher.
template <int kCount>
HWY_INLINE void fetch(const float* block, int64_t c) {
  const float* const part = block + c * kCount;
  DPTRAIN_UNROLL_TAPS for (int b = 0; b < kCount; ++b) __builtin_prefetch(part + kLanes * b, 0, 2);
}

/// kCount elements whose taps are all inside the image. `columns`: taps of the first; outputs are `step` pixels apart.
template <class Row, int kCount>
HWY_INLINE void block_of_line(const DepthwiseLine& l, const Taps& columns, int64_t step, float* to) {
  const BlockWalk walk(l, columns);
  const int64_t next = Row::kStep * walk.next_pixel, next_out = step * walk.channels;
  const float* const ahead = walk.pixel + (walk.next_line > 0 ? walk.rows * walk.next_line : -walk.next_line);
  sweep(walk.channels, [=](int64_t c, auto io) HWY_ATTR {
    fetch<kCount * Row::kAdvance>(ahead, c);
    const Vec start = walk.start(c, io);
    Vec sum[kCount];
    DPTRAIN_UNROLL_TAPS for (int b = 0; b < kCount; ++b) sum[b] = start;
    const float *pixel = walk.pixel + Row::first(kCount) * walk.next_pixel + c, *taps = walk.taps + c;
    for (int64_t r = 0; r < walk.rows; ++r, pixel += walk.next_line, taps += walk.next_taps) {
      Vec weight[Row::kTaps];
      DPTRAIN_UNROLL_TAPS for (int k = 0; k < Row::kTaps; ++k) weight[k] = io.load(taps + k * walk.next_tap);
      add_row<Row, kCount>(pixel, next, io, weight, sum, Sequence<Row::pixels(kCount)>());
    }
    float* out = to + c;
    DPTRAIN_UNROLL_TAPS for (int b = 0; b < kCount; ++b, out += next_out) io.store(walk.end(sum[b]), out);
  });
}

/// One element, with the taps that are inside the image.
template <int kTaps>
HWY_INLINE void element_of_line(const DepthwiseLine& l, const Taps& columns, float* to) {
  const BlockWalk walk(l, columns);
  const int64_t next = columns.in_step * walk.next_pixel;
  sweep(walk.channels, [=](int64_t c, auto io) HWY_ATTR {
    Vec sum = walk.start(c, io);
    const float *pixel = walk.pixel + c, *taps = walk.taps + c;
    for (int64_t r = 0; r < walk.rows; ++r, pixel += walk.next_line, taps += walk.next_taps)
      DPTRAIN_UNROLL_TAPS for (int k = 0; k < kTaps; ++k) sum =
          hn::MulAdd(io.load(pixel + k * next), io.load(taps + k * walk.next_tap), sum);
    io.store(walk.end(sum), to + c);
  });
}

inline void element_of_line(const DepthwiseLine& l, const Taps& columns, float* to) {
  switch (columns.count) {
    case 0: return element_of_line<0>(l, columns, to);
    case 1: return element_of_line<1>(l, columns, to);
    case 2: return element_of_line<2>(l, columns, to);
    case 3: return element_of_line<3>(l, columns, to);
    case 4: return element_of_line<4>(l, columns, to);
    default: return element_of_line<5>(l, columns, to);
  }
}

template <class Row>
void run_in_blocks_of(const DepthwiseLine& l, const Run& run) {
  const Run::Range whole = run.whole(l.in_w);
  const auto at = [&](int64_t i) { return l.to + (run.first + i * run.step) * l.channels; };
  const auto taps_of = [&](int64_t i) { return run.taps.moved(i * run.advance); };
  const auto edge = [&](int64_t i) { element_of_line(l, taps_of(i).inside(l.in_w), at(i)); };
  int64_t i = 0;
  for (; i < whole.begin; ++i) edge(i);
  for (; i + 8 <= whole.end; i += 8) block_of_line<Row, 8>(l, taps_of(i), run.step, at(i));
  for (; i + 4 <= whole.end; i += 4) block_of_line<Row, 4>(l, taps_of(i), run.step, at(i));
  for (; i < run.count; ++i) edge(i);
}

/// Computes the run, or returns false if there are no blocks for its taps.
inline bool run_in_blocks(const DepthwiseLine& l, const Run& run) {
  const auto is = [&](int64_t taps, int64_t step, int64_t advance) {
    return run.taps.count == taps && run.taps.in_step == step && run.advance == advance;
  };
  if (is(3, 1, 1)) return run_in_blocks_of<RowTaps<3, 1, 1>>(l, run), true;
  if (is(3, 1, 2)) return run_in_blocks_of<RowTaps<3, 1, 2>>(l, run), true;
  if (is(5, 1, 1)) return run_in_blocks_of<RowTaps<5, 1, 1>>(l, run), true;
  if (is(5, 1, 2)) return run_in_blocks_of<RowTaps<5, 1, 2>>(l, run), true;
  if (is(1, -1, 1)) return run_in_blocks_of<RowTaps<1, -1, 1>>(l, run), true;
  if (is(2, -1, 1)) return run_in_blocks_of<RowTaps<2, -1, 1>>(l, run), true;
  if (is(3, -1, 1)) return run_in_blocks_of<RowTaps<3, -1, 1>>(l, run), true;
  if (is(5, -1, 1)) return run_in_blocks_of<RowTaps<5, -1, 1>>(l, run), true;
  return false;
}

/// A line of the output and the input lines that its windows read.
struct GradientLine {
  const float* image;  ///< the sample's input
  const float* dy;
  Taps rows;  ///< inside the image
};

/// Sums of products for one row of the window; as many chains per tap as registers allow.
template <class Row>
struct TapSums {
  static constexpr int kChains = Row::kTaps > 3 ? 1 : 2;
  Vec sum[Row::kTaps][kChains];

  HWY_INLINE TapSums() {
    DPTRAIN_UNROLL_TAPS for (int k = 0; k < Row::kTaps; ++k)
        DPTRAIN_UNROLL_TAPS for (int chain = 0; chain < kChains; ++chain) sum[k][chain] = hn::Zero(kFloats);
  }
  HWY_INLINE Vec total(int k) const {
    if constexpr (kChains == 1) return sum[k][0];
    return hn::Add(sum[k][0], sum[k][kChains - 1]);
  }
  template <int k, int b>
  HWY_INLINE void add_tap(Vec source, Vec g) {
    if constexpr (k >= 0 && k < Row::kTaps) sum[k][b % kChains] = hn::MulAdd(source, g, sum[k][b % kChains]);
  }
  template <int kCount, int p, class Io, int... b>
  HWY_INLINE void add_pixel(const float*& pixel, int64_t next, Io io, const Vec* g, std::integer_sequence<int, b...>) {
    const Vec source = io.load(pixel);
    pixel += next;
    (add_tap<Row::tap(kCount, p, b), b>(source, g[b]), ...);
  }
  template <int kCount, class Io, int... p>
  HWY_INLINE void add_row(const float* pixel, int64_t next, Io io, const Vec* g, std::integer_sequence<int, p...>) {
    (add_pixel<kCount, p>(pixel, next, io, g, Sequence<kCount>()), ...);
  }
};

/// sums += products of kCount elements from `i` on, all of whose taps are inside the image.
template <class Row, int kCount>
HWY_INLINE void block_gradients(const DepthwiseShape& s, const GradientLine& l, int64_t i, float* sums) {
  const int64_t n = s.channels, rows = l.rows.count;
  const int64_t next_line = l.rows.in_step * s.in_w * n, next_sums = l.rows.tap_step * Row::kTaps * n;
  const float* const first_dy = l.dy + i * n;
  const float* const first_pixel = l.image + (l.rows.in * s.in_w + i * Row::kAdvance - s.pad_left) * n;
  const float* const ahead = first_pixel + rows * next_line;
  const int64_t next_dy = s.out_w * n;
  float* const first_sums = sums + l.rows.tap * Row::kTaps * n;
  sweep(n, [=](int64_t c, auto io) HWY_ATTR {
    fetch<kCount * Row::kAdvance>(ahead, c);
    fetch<kCount>(first_dy + next_dy, c);
    Vec g[kCount];
    const float *dy = first_dy + c, *pixel = first_pixel + c;
    DPTRAIN_UNROLL_TAPS for (int b = 0; b < kCount; ++b, dy += n) g[b] = io.load(dy);
    float* to = first_sums + c;
    for (int64_t r = 0; r < rows; ++r, pixel += next_line, to += next_sums) {
      TapSums<Row> of_row;
      of_row.template add_row<kCount>(pixel, n, io, g, Sequence<Row::pixels(kCount)>());
      DPTRAIN_UNROLL_TAPS for (int k = 0; k < Row::kTaps; ++k)
          io.store(hn::Add(io.load(to + k * n), of_row.total(k)), to + k * n);
    }
  });
}

/// sums += products of one element, with the taps that are inside the image.
inline void element_gradients(const DepthwiseShape& s, const GradientLine& l, int64_t i, const Taps& columns,
                              float* sums) {
  const int64_t n = s.channels;
  sweep(n, [&](int64_t c, auto io) HWY_ATTR {
    const Vec g = io.load(l.dy + i * n + c);
    for (int64_t r = 0; r < l.rows.count; ++r) {
      const float* const pixel = l.image + ((l.rows.in + r * l.rows.in_step) * s.in_w + columns.in) * n + c;
      float* const to = sums + ((l.rows.tap + r * l.rows.tap_step) * s.kernel_w + columns.tap) * n + c;
      for (int64_t k = 0; k < columns.count; ++k)
        io.store(hn::MulAdd(io.load(pixel + k * n), g, io.load(to + k * n)), to + k * n);
    }
  });
}

template <class Row>
void gradients_in_blocks_of(const DepthwiseShape& s, const float* x, const float* dy, int64_t begin, int64_t end,
                            float* sums) {
  const TapAxis rows = TapAxis::rows(s);
  const Run run{.first = 0, .step = 1, .count = s.out_w, .advance = s.stride_w, .taps = TapAxis::columns(s).forward(0)};
  const Run::Range whole = run.whole(s.in_w);
  for (int64_t line = begin; line < end; ++line) {
    const GradientLine l{.image = x + line / s.out_h * s.in_h * s.in_w * s.channels,
                         .dy = dy + line * s.out_w * s.channels,
                         .rows = rows.forward(line % s.out_h).inside(s.in_h)};
    const auto edge = [&](int64_t i) {
      element_gradients(s, l, i, run.taps.moved(i * run.advance).inside(s.in_w), sums);
    };
    int64_t i = 0;
    for (; i < whole.begin; ++i) edge(i);
    for (; i + 8 <= whole.end; i += 8) block_gradients<Row, 8>(s, l, i, sums);
    for (; i + 4 <= whole.end; i += 4) block_gradients<Row, 4>(s, l, i, sums);
    for (; i < run.count; ++i) edge(i);
  }
}

/// Adds the weight gradients of output lines [begin, end), or returns false if there are no blocks for the windows.
inline bool gradients_in_blocks(const DepthwiseShape& s, const float* x, const float* dy, int64_t begin, int64_t end,
                                float* sums) {
  if (s.dilation_w != 1) return false;
  const auto is = [&](int64_t taps, int64_t stride) { return s.kernel_w == taps && s.stride_w == stride; };
  if (is(3, 1)) return gradients_in_blocks_of<RowTaps<3, 1, 1>>(s, x, dy, begin, end, sums), true;
  if (is(3, 2)) return gradients_in_blocks_of<RowTaps<3, 1, 2>>(s, x, dy, begin, end, sums), true;
  if (is(5, 1)) return gradients_in_blocks_of<RowTaps<5, 1, 1>>(s, x, dy, begin, end, sums), true;
  if (is(5, 2)) return gradients_in_blocks_of<RowTaps<5, 1, 2>>(s, x, dy, begin, end, sums), true;
  return false;
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
