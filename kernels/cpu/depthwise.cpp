#include "kernels/cpu/depthwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/depthwise_taps.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/depthwise_blocks-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// Policies that load source and weights of a vector of channels; pixels and taps are pointers to their first channel.

template <class Io>
struct OneToOne {
  Io io;
  int64_t c;
  HWY_INLINE OneToOne(Io of, int64_t first, const DepthwiseLine&) : io(of), c(first) {}
  HWY_INLINE int64_t parts() const { return 1; }
  HWY_INLINE Vec source(const float* pixel, int64_t) const { return io.load(pixel + c); }
  HWY_INLINE Vec weight(const float* tap, int64_t) const { return io.load(tap + c); }
};

/// f(channel) for each lane; lane i is channel min(first + i, last).
template <class F>
HWY_INLINE IntVec indices(int64_t first, int64_t channels, const F& f) {
  HWY_ALIGN int32_t lanes[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<int32_t>(f(std::min(first + i, channels - 1)));
  return hn::Load(kInts, lanes);
}

/// Forward with a multiplier: several channels of the result read one channel of the source.
template <class Io>
struct Spread {
  Io io;
  int64_t c;
  IntVec from;
  HWY_INLINE Spread(Io of, int64_t first, const DepthwiseLine& l)
      : io(of), c(first), from(indices(first, l.channels, [&](int64_t o) HWY_ATTR { return o / l.multiplier; })) {}
  HWY_INLINE int64_t parts() const { return 1; }
  HWY_INLINE Vec source(const float* pixel, int64_t) const { return hn::GatherIndex(kFloats, pixel, from); }
  HWY_INLINE Vec weight(const float* tap, int64_t) const { return io.load(tap + c); }
};

/// Backward with a multiplier: a channel of the result sums several channels of the source.
template <class Io>
struct Folded {
  int64_t multiplier;
  IntVec from;
  HWY_INLINE Folded(Io, int64_t first, const DepthwiseLine& l)
      : multiplier(l.multiplier),
        from(indices(first, l.channels, [&](int64_t c) HWY_ATTR { return c * l.multiplier; })) {}
  HWY_INLINE int64_t parts() const { return multiplier; }
  HWY_INLINE Vec source(const float* pixel, int64_t part) const { return hn::GatherIndex(kFloats, pixel + part, from); }
  HWY_INLINE Vec weight(const float* tap, int64_t part) const { return hn::GatherIndex(kFloats, tap + part, from); }
};

/// kCount neighbouring elements of the line share each load of a weight. `columns` are the column taps of the first
/// element. The taps of the next element are `advance` pixels further, its output `step` pixels further.
template <int kCount, class Io, class Channels>
HWY_INLINE void elements(const DepthwiseLine& l, const Taps& columns, int64_t advance, int64_t step, Io io, int64_t c,
                         const Channels& channels, float* to) {
  Vec sum[kCount];
  const Vec start = l.bias == nullptr ? hn::Zero(kFloats) : io.load(l.bias + c);
  for (int b = 0; b < kCount; ++b) sum[b] = start;
  const int64_t next = advance * l.in_channels;
  for (int64_t part = 0; part < channels.parts(); ++part) {
    for (int64_t r = 0; r < l.rows.count; ++r) {
      const float* const line = l.image + (l.rows.in + r * l.rows.in_step) * l.in_w * l.in_channels;
      const float* const taps = l.weights + (l.rows.tap + r * l.rows.tap_step) * l.kernel_w * l.weight_channels;
      for (int64_t k = 0; k < columns.count; ++k) {
        const float* pixel = line + (columns.in + k * columns.in_step) * l.in_channels;
        const Vec weight = channels.weight(taps + (columns.tap + k * columns.tap_step) * l.weight_channels, part);
        for (int b = 0; b < kCount; ++b, pixel += next)
          sum[b] = hn::MulAdd(channels.source(pixel, part), weight, sum[b]);
      }
    }
  }
  for (int b = 0; b < kCount; ++b) {
    const Vec value = l.relu ? hn::IfThenZeroElse(hn::Le(sum[b], hn::Zero(kFloats)), sum[b]) : sum[b];  // keeps NaN
    io.store(value, to + b * step * l.channels + c);
  }
}

template <template <class> class Channels, class Io>
HWY_INLINE void run_of_line(const DepthwiseLine& l, const Run& run, Io io, int64_t c) {
  const Channels<Io> channels(io, c, l);
  const Run::Range whole = run.whole(l.in_w);
  const auto at = [&](int64_t i) HWY_ATTR { return l.to + (run.first + i * run.step) * l.channels; };
  const auto taps_of = [&](int64_t i) HWY_ATTR { return run.taps.moved(i * run.advance); };
  const auto edge = [&](int64_t i) HWY_ATTR {
    elements<1>(l, taps_of(i).inside(l.in_w), run.advance, run.step, io, c, channels, at(i));
  };
  int64_t i = 0;
  for (; i < whole.begin; ++i) edge(i);
  for (; i + 8 <= whole.end; i += 8) elements<8>(l, taps_of(i), run.advance, run.step, io, c, channels, at(i));
  for (; i + 4 <= whole.end; i += 4) elements<4>(l, taps_of(i), run.advance, run.step, io, c, channels, at(i));
  for (; i < whole.end; ++i) elements<1>(l, taps_of(i), run.advance, run.step, io, c, channels, at(i));
  for (; i < run.count; ++i) edge(i);
}

void forward_piece(const DepthwiseShape& s, const float* x, const float* weights, const float* bias, bool relu,
                   int64_t begin, int64_t end, float* y) {
  const TapAxis rows = TapAxis::rows(s), columns = TapAxis::columns(s);
  const int64_t channels = s.out_channels();
  const Run run{.first = 0, .step = 1, .count = s.out_w, .advance = s.stride_w, .taps = columns.forward(0)};
  for (int64_t line = begin; line < end; ++line) {
    const DepthwiseLine l{.image = x + line / s.out_h * s.in_h * s.in_w * s.channels,
                          .weights = weights,
                          .bias = bias,
                          .relu = relu,
                          .in_w = s.in_w,
                          .in_channels = s.channels,
                          .weight_channels = channels,
                          .channels = channels,
                          .kernel_w = s.kernel_w,
                          .multiplier = s.multiplier,
                          .rows = rows.forward(line % s.out_h).inside(s.in_h),
                          .to = y + line * s.out_w * channels};
    if (s.multiplier == 1 && run_in_blocks(l, run)) continue;
    sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
      if (s.multiplier == 1)
        run_of_line<OneToOne>(l, run, io, c);
      else
        run_of_line<Spread>(l, run, io, c);
    });
  }
}

void backward_data_piece(const DepthwiseShape& s, const float* dy, const float* weights, int64_t begin, int64_t end,
                         float* dx) {
  const TapAxis rows = TapAxis::rows(s), columns = TapAxis::columns(s);
  const int64_t out_channels = s.out_channels();
  for (int64_t line = begin; line < end; ++line) {
    const DepthwiseLine l{.image = dy + line / s.in_h * s.out_h * s.out_w * out_channels,
                          .weights = weights,
                          .bias = nullptr,
                          .relu = false,
                          .in_w = s.out_w,
                          .in_channels = out_channels,
                          .weight_channels = out_channels,
                          .channels = s.channels,
                          .kernel_w = s.kernel_w,
                          .multiplier = s.multiplier,
                          .rows = rows.backward(line % s.in_h).inside(s.out_h),
                          .to = dx + line * s.in_w * s.channels};
    for (int64_t first = 0; first < std::min(s.stride_w, s.in_w); ++first) {
      const Run run{.first = first,
                    .step = s.stride_w,
                    .count = (s.in_w - first + s.stride_w - 1) / s.stride_w,
                    .advance = 1,
                    .taps = columns.backward(first)};
      if (s.multiplier == 1 && run_in_blocks(l, run)) continue;
      sweep(s.channels, [&](int64_t c, auto io) HWY_ATTR {
        if (s.multiplier == 1)
          run_of_line<OneToOne>(l, run, io, c);
        else
          run_of_line<Folded>(l, run, io, c);
      });
    }
  }
}

/// Weight gradients of kTaps neighbouring taps of a row of the window, summed over some lines of the output.
template <int kTaps, class Io, class Channels>
HWY_INLINE void tap_gradients(const DepthwiseShape& s, const float* x, const float* dy, int64_t begin, int64_t end,
                              int64_t kh, int64_t kw, Io io, int64_t c, const Channels& channels, float* sums) {
  constexpr int kChains = kTaps < 4 ? 4 : 2;  // enough independent sums to hide the latency of a multiply-add
  Vec sum[kTaps][kChains];
  for (auto& chains : sum)
    for (Vec& chain : chains) chain = hn::Zero(kFloats);
  const int64_t out_channels = s.out_channels(), tap_step = s.dilation_w * s.channels, next = s.stride_w * s.channels;
  const Run run{.first = 0,
                .step = 1,
                .count = s.out_w,
                .advance = s.stride_w,
                .taps = {kTaps, kw, 1, kw * s.dilation_w - s.pad_left, s.dilation_w}};
  const Run::Range whole = run.whole(s.in_w);
  for (int64_t line = begin; line < end; ++line) {
    const int64_t h = line % s.out_h * s.stride_h + kh * s.dilation_h - s.pad_top;
    if (h < 0 || h >= s.in_h) continue;
    const float* const from = x + (line / s.out_h * s.in_h + h) * s.in_w * s.channels;
    const float* const gradient = dy + line * s.out_w * out_channels + c;
    const auto edge = [&](int64_t i) HWY_ATTR {
      const Vec g = io.load(gradient + i * out_channels);
      for (int t = 0; t < kTaps; ++t) {
        const int64_t w = run.taps.in + i * s.stride_w + t * s.dilation_w;
        if (w >= 0 && w < s.in_w) sum[t][0] = hn::MulAdd(channels.source(from + w * s.channels, 0), g, sum[t][0]);
      }
    };
    int64_t i = 0;
    for (; i < whole.begin; ++i) edge(i);
    for (; i + kChains <= whole.end; i += kChains) {
      const float* const pixel = from + (run.taps.in + i * s.stride_w) * s.channels;
      for (int b = 0; b < kChains; ++b) {
        const Vec g = io.load(gradient + (i + b) * out_channels);
        for (int t = 0; t < kTaps; ++t)
          sum[t][b] = hn::MulAdd(channels.source(pixel + b * next + t * tap_step, 0), g, sum[t][b]);
      }
    }
    for (; i < run.count; ++i) edge(i);
  }
  for (int t = 0; t < kTaps; ++t) {
    Vec total = sum[t][0];
    for (int b = 1; b < kChains; ++b) total = hn::Add(total, sum[t][b]);
    float* const to = sums + (kh * s.kernel_w + kw + t) * out_channels + c;
    io.store(hn::Add(io.load(to), total), to);
  }
}

template <template <class> class Channels, class Io>
HWY_INLINE void window_gradients(const DepthwiseShape& s, const float* x, const float* dy, int64_t begin, int64_t end,
                                 Io io, int64_t c, const Channels<Io>& channels, float* sums) {
  for (int64_t kh = 0; kh < s.kernel_h; ++kh) {
    int64_t kw = 0;
    for (; kw + 5 <= s.kernel_w; kw += 5) tap_gradients<5>(s, x, dy, begin, end, kh, kw, io, c, channels, sums);
    for (; kw + 3 <= s.kernel_w; kw += 3) tap_gradients<3>(s, x, dy, begin, end, kh, kw, io, c, channels, sums);
    for (; kw < s.kernel_w; ++kw) tap_gradients<1>(s, x, dy, begin, end, kh, kw, io, c, channels, sums);
  }
}

/// Positions added in sequence: bounds the rounding error, and keeps the lines, read once per tap, in the L1 cache.
inline constexpr int64_t kGradientChain = 16;

/// sums [kernel_h, kernel_w, out channels] of lines [begin, end) of the output.
void backward_weights_piece(const DepthwiseShape& s, const float* x, const float* dy, int64_t begin, int64_t end,
                            float* sums) {
  std::memset(sums, 0, static_cast<size_t>(s.weights()) * sizeof(float));
  if (s.multiplier == 1 && gradients_in_blocks(s, x, dy, begin, end, sums)) return;
  DepthwiseLine channels{};
  channels.channels = s.out_channels();
  channels.multiplier = s.multiplier;
  const int64_t size = std::max<int64_t>(1, kGradientChain / s.out_w);
  for (int64_t first = begin; first < end; first += size) {
    const int64_t last = std::min(end, first + size);
    sweep(s.out_channels(), [&](int64_t c, auto io) HWY_ATTR {
      using Io = decltype(io);
      if (s.multiplier == 1)
        window_gradients(s, x, dy, first, last, io, c, OneToOne<Io>(io, c, channels), sums);
      else
        window_gradients(s, x, dy, first, last, io, c, Spread<Io>(io, c, channels), sums);
    });
  }
}

/// to[i] = sum over `parts` arrays, `stride` floats apart, in order.
void add_parts_piece(const float* first, int64_t parts, int64_t stride, int64_t n, float* to) {
  sweep(n, [&](int64_t i, auto io) HWY_ATTR {
    Vec sum = io.load(first + i);
    for (int64_t part = 1; part < parts; ++part) sum = hn::Add(sum, io.load(first + part * stride + i));
    io.store(sum, to + i);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(forward_piece);
HWY_EXPORT(backward_data_piece);
HWY_EXPORT(backward_weights_piece);
HWY_EXPORT(add_parts_piece);

namespace {

int64_t lines_per_partial(const DepthwiseShape& s, int64_t rows) {
  return rows_per_partial(rows * s.out_h, s.out_w * s.out_channels());
}

}  // namespace

void depthwise_forward(const DepthwiseShape& shape, const float* x, const float* weights, const float* bias, bool relu,
                       int64_t rows, float* y) {
  parallel_ranges(rows * shape.out_h, rows_per_piece(shape.out_w * shape.out_channels()),
                  [&](int64_t begin, int64_t end) {
                    HWY_DYNAMIC_DISPATCH(forward_piece)(shape, x, weights, bias, relu, begin, end, y);
                  });
}

void depthwise_backward_data(const DepthwiseShape& shape, const float* dy, const float* weights, int64_t rows,
                             float* dx) {
  parallel_ranges(rows * shape.in_h, rows_per_piece(shape.in_w * shape.channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_data_piece)(shape, dy, weights, begin, end, dx);
  });
}

int64_t depthwise_workspace(const DepthwiseShape& shape, int64_t rows) {
  return pieces_of(rows * shape.out_h, lines_per_partial(shape, rows)) * shape.weights();
}

void depthwise_backward_weights(const DepthwiseShape& shape, const float* x, const float* dy, int64_t rows,
                                float* workspace, float* dweights) {
  const int64_t lines = rows * shape.out_h, size = lines_per_partial(shape, rows), n = shape.weights();
  parallel_ranges(lines, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_weights_piece)(shape, x, dy, begin, end, workspace + begin / size * n);
  });
  parallel_ranges(n, kPieceElements / 4, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_parts_piece)(workspace + begin, pieces_of(lines, size), n, end - begin, dweights + begin);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
