// Inner loops of pooling.

#if defined(DPTRAIN_KERNELS_CPU_POOL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_POOL_INL_H
#undef DPTRAIN_KERNELS_CPU_POOL_INL_H
#else
#define DPTRAIN_KERNELS_CPU_POOL_INL_H
#endif

#include <algorithm>

#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// The part of a window inside the input along one axis: positions [begin, end); position k is input `origin + k`.
struct Span {
  int64_t origin, begin, end;
  Span(int64_t out, int64_t stride, int64_t pad, int64_t kernel, int64_t in)
      : origin(out * stride - pad), begin(std::max<int64_t>(0, -origin)), end(std::min(kernel, in - origin)) {}
  int64_t size() const { return end - begin; }
};

/// The windows [begin, end) along one axis that cover input `at`, in window o at kernel position at - first(o).
struct Cover {
  int64_t begin, end;
  Cover(int64_t at, int64_t stride, int64_t pad, int64_t kernel, int64_t out)
      : begin((std::max<int64_t>(0, at + pad - kernel + 1) + stride - 1) / stride),
        end(std::max(begin, std::min(out, (at + pad) / stride + 1))) {}
  int64_t size() const { return end - begin; }
};

/// Calls f(offset of channel 0 in the line of x, column, windows in h, in w) for the inputs [begin, end) of a line.
template <class F>
HWY_INLINE void for_each_input(const PoolWindow& w, int64_t ih, int64_t begin, int64_t end, const F& f) {
  const Cover h(ih, w.stride_h, w.pad_top, w.kernel_h, w.out_h);
  for (int64_t iw = begin; iw < end; ++iw)
    f(iw * w.channels, iw, h, Cover(iw, w.stride_w, w.pad_left, w.kernel_w, w.out_w));
}

/// Calls f(rows, columns) with the size of a rectangle of windows, as constants if both are 1 or 2.
template <class F>
HWY_INLINE void with_sizes(int64_t rows, int64_t columns, const F& f) {
  constexpr std::integral_constant<int64_t, 1> kOne{};
  constexpr std::integral_constant<int64_t, 2> kTwo{};
  if (rows == 1 && columns == 1) return f(kOne, kOne);
  if (rows == 1 && columns == 2) return f(kOne, kTwo);
  if (rows == 2 && columns == 1) return f(kTwo, kOne);
  if (rows == 2 && columns == 2) return f(kTwo, kTwo);
  f(rows, columns);
}

/// Calls f(output position, rows of the window, columns of the window) for every output of one sample.
template <class F>
HWY_INLINE void for_each_window(const PoolWindow& w, const F& f) {
  for (int64_t oh = 0; oh < w.out_h; ++oh) {
    const Span h(oh, w.stride_h, w.pad_top, w.kernel_h, w.in_h);
    for (int64_t ow = 0; ow < w.out_w; ++ow)
      f(oh * w.out_w + ow, h, Span(ow, w.stride_w, w.pad_left, w.kernel_w, w.in_w));
  }
}

/// Calls f(offset of channel 0 in the sample, kernel position) for every position of a window inside the input.
template <class F>
HWY_INLINE void for_each_position(const PoolWindow& w, const Span& h, const Span& v, const F& f) {
  for (int64_t kh = h.begin; kh < h.end; ++kh)
    for (int64_t kw = v.begin; kw < v.end; ++kw)
      f(((h.origin + kh) * w.in_w + v.origin + kw) * w.channels, kh * w.kernel_w + kw);
}

/// The first largest value so far, and its index.
struct Best {
  Vec value;
  IntVec index;
  HWY_INLINE Best(Vec first, int64_t at) : value(first), index(hn::Set(kInts, static_cast<int32_t>(at))) {}
  HWY_INLINE void update_max(Vec other, int64_t at) {
    const auto larger = hn::Gt(other, value);
    value = hn::IfThenElse(larger, other, value);
    index = hn::IfThenElse(hn::RebindMask(kInts, larger), hn::Set(kInts, static_cast<int32_t>(at)), index);
  }
};

/// One output from a 3x3 window inside the input.
HWY_INLINE void max_forward_nine(const PoolWindow& w, const float* x, float* y, uint8_t* index) {
  const int64_t channels = w.channels, line = w.in_w * channels;
  sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
    const float *upper = x + c, *middle = upper + line, *lower = middle + line;
    Best best(io.load(upper), 0);
    best.update_max(io.load(upper + channels), 1);
    best.update_max(io.load(upper + 2 * channels), 2);
    best.update_max(io.load(middle), 3);
    best.update_max(io.load(middle + channels), 4);
    best.update_max(io.load(middle + 2 * channels), 5);
    best.update_max(io.load(lower), 6);
    best.update_max(io.load(lower + channels), 7);
    best.update_max(io.load(lower + 2 * channels), 8);
    io.store(best.value, y + c);
    if (index != nullptr) io.store(best.index, index + c);
  });
}

/// One line of outputs of one sample; `index` may be null.
HWY_INLINE void max_forward_line(const PoolWindow& w, const float* x, int64_t oh, float* y, uint8_t* index) {
  const Span h(oh, w.stride_h, w.pad_top, w.kernel_h, w.in_h);
  for (int64_t ow = 0; ow < w.out_w; ++ow) {
    const Span v(ow, w.stride_w, w.pad_left, w.kernel_w, w.in_w);
    const float* first = x + ((h.origin + h.begin) * w.in_w + v.origin + v.begin) * w.channels;
    if (w.kernel_h == 3 && w.kernel_w == 3 && h.size() == 3 && v.size() == 3) {
      max_forward_nine(w, first, y + ow * w.channels, index == nullptr ? nullptr : index + ow * w.channels);
      continue;
    }
    sweep(w.channels, [&](int64_t c, auto io) HWY_ATTR {
      Best best(io.load(first + c), h.begin * w.kernel_w + v.begin);
      for_each_position(w, h, v,
                        [&](int64_t position, int64_t k) HWY_ATTR { best.update_max(io.load(x + position + c), k); });
      io.store(best.value, y + ow * w.channels + c);
      if (index != nullptr) io.store(best.index, index + ow * w.channels + c);
    });
  }
}

/// Adjacent 2x2 windows, none across the border: the common case, bound by memory bandwidth.
inline bool is_two_by_two(const PoolWindow& w) {
  return w.kernel_h == 2 && w.kernel_w == 2 && w.stride_h == 2 && w.stride_w == 2 && w.pad_top == 0 &&
         w.pad_left == 0 && 2 * w.out_h <= w.in_h && 2 * w.out_w <= w.in_w;
}

/// One line of outputs from two lines of inputs.
HWY_INLINE void max_forward_pairs(const PoolWindow& w, const float* x, float* y, uint8_t* index) {
  const int64_t channels = w.channels, line = w.in_w * channels;
  for (int64_t ow = 0; ow < w.out_w; ++ow, x += 2 * channels, y += channels) {
    sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
      const float* p = x + c;
      Best upper(io.load(p), 0), lower(io.load(p + line), 2);
      upper.update_max(io.load(p + channels), 1);
      lower.update_max(io.load(p + line + channels), 3);
      const auto below = hn::Gt(lower.value, upper.value);
      io.store(hn::IfThenElse(below, lower.value, upper.value), y + c);
      if (index != nullptr)
        io.store(hn::IfThenElse(hn::RebindMask(kInts, below), lower.index, upper.index), index + ow * channels + c);
    });
  }
}

/// Two lines of dx from one line of dy; `output` may be null.
HWY_INLINE void max_backward_pairs(const PoolWindow& w, const float* dy, const uint8_t* index, const float* output,
                                   float* dx) {
  const int64_t channels = w.channels, line = w.in_w * channels;
  const int64_t offsets[4] = {0, channels, line, line + channels};
  for (int64_t ow = 0; ow < w.out_w; ++ow, dx += 2 * channels) {
    sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
      const int64_t at = ow * channels + c;
      Vec g = io.load(dy + at);
      if (output != nullptr) g = where_positive(io.load(output + at), g);
      const IntVec position = io.load(index + at);
      for (int k = 0; k < 4; ++k)
        io.store(hn::IfThenElseZero(float_mask(hn::Eq(position, hn::Set(kInts, k))), g), dx + offsets[k] + c);
    });
  }
  const size_t rest = static_cast<size_t>((w.in_w - 2 * w.out_w) * channels) * sizeof(float);
  std::memset(dx, 0, rest);
  std::memset(dx + line, 0, rest);
}

/// Number of strides that cover the lines of an image, starting at the first line of padding.
inline int64_t strides_of(const PoolWindow& w) { return (w.in_h + w.pad_top + w.stride_h - 1) / w.stride_h; }

/// 3x3 windows with stride 2: each square of four inputs is covered by four of them.
inline bool is_three_by_two(const PoolWindow& w) {
  return w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 2 && w.stride_w == 2;
}

/// dx of four inputs at once; the upper left one is the last input of the first window and the first of the fourth.
/// Reads and masks each window once. Pointers are to the first window and the first input. Sums are in the order of the
/// windows, as in max_backward_gather(). Prefetches the square after the next, which the hardware prefetcher misses.
template <bool kMasked>
HWY_INLINE void max_backward_square(const PoolWindow& w, const float* dy, const uint8_t* index, const float* output,
                                    float* dx) {
  const int64_t channels = w.channels, in_line = w.in_w * channels, out_line = w.out_w * channels;
  const int64_t windows[4] = {0, channels, out_line, out_line + channels};
  const int64_t inputs[4] = {0, channels, in_line, in_line + channels};
  sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
    Vec g[4];
    IntVec place[4];
    for (int i = 0; i < 4; ++i) {
      g[i] = io.load(dy + windows[i] + c);
      if constexpr (kMasked) g[i] = where_positive(io.load(output + windows[i] + c), g[i]);
      place[i] = io.load(index + windows[i] + c);
    }
    const auto part = [&](int window, int k) HWY_ATTR {
      return hn::IfThenElseZero(float_mask(hn::Eq(place[window], hn::Set(kInts, k))), g[window]);
    };
    for (const int64_t input : inputs) __builtin_prefetch(dx + input + c + 4 * channels, 1, 2);
    const Vec zero = hn::Zero(kFloats);  // a sum never starts at -0
    const Vec right = hn::Add(zero, part(1, 7)), below = hn::Add(zero, part(2, 5));
    const Vec here = hn::Add(hn::Add(hn::Add(zero, part(0, 8)), part(1, 6)), part(2, 2));
    io.store(hn::Add(here, part(3, 0)), dx + inputs[0] + c);
    io.store(hn::Add(right, part(3, 1)), dx + inputs[1] + c);
    io.store(hn::Add(below, part(3, 3)), dx + inputs[2] + c);
    io.store(hn::Add(zero, part(3, 4)), dx + inputs[3] + c);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
