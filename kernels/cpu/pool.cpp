#include "kernels/cpu/pool.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/pool.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/column_sums-inl.h"
#include "kernels/cpu/pool-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Output lines [begin, end) of all rows * out_h lines.
void max_forward_piece(const PoolWindow& w, const float* x, int64_t begin, int64_t end, float* y, uint8_t* argmax) {
  const bool pairs = is_two_by_two(w);
  const int64_t line_size = w.out_w * w.channels;
  for (int64_t line = begin; line < end; ++line) {
    float* out = y + line * line_size;
    uint8_t* index = argmax == nullptr ? nullptr : argmax + line * line_size;
    const float* sample = x + line / w.out_h * w.in_h * w.in_w * w.channels;
    if (pairs)
      max_forward_pairs(w, sample + 2 * (line % w.out_h) * w.in_w * w.channels, out, index);
    else
      max_forward_line(w, sample, line % w.out_h, out, index);
  }
}

/// Output lines [begin, end) of all rows * out_h lines, for 2x2 windows: no two lines write the same input line.
void max_backward_pairs_piece(const PoolWindow& w, const float* dy, const uint8_t* argmax, const float* output,
                              int64_t begin, int64_t end, float* dx) {
  const int64_t in_line = w.in_w * w.channels, out_line = w.out_w * w.channels;
  for (int64_t line = begin; line < end; ++line) {
    const int64_t out_h = line % w.out_h;
    float* to = dx + (line / w.out_h * w.in_h + 2 * out_h) * in_line;
    max_backward_pairs(w, dy + line * out_line, argmax + line * out_line,
                       output == nullptr ? nullptr : output + line * out_line, to);
    const int64_t below = out_h + 1 == w.out_h ? w.in_h - 2 * w.out_h : 0;
    std::memset(to + 2 * in_line, 0, static_cast<size_t>(below * in_line) * sizeof(float));
  }
}

/// Inputs [begin, end) of input line `line` of all rows * in_h lines; each gathers from the windows that cover it.
void max_backward_gather(const PoolWindow& w, const float* dy, const uint8_t* argmax, const float* output, int64_t line,
                         int64_t begin, int64_t end, float* dx) {
  const int64_t ih = line % w.in_h, sample = line / w.in_h * w.out_h * w.out_w;
  float* const to_line = dx + line * w.in_w * w.channels;
  for_each_input(w, ih, begin, end, [&](int64_t place, int64_t iw, const Cover& h, const Cover& v) HWY_ATTR {
    const int64_t first = (sample + h.begin * w.out_w + v.begin) * w.channels;
    const int64_t kernel_place =
        (ih + w.pad_top - h.begin * w.stride_h) * w.kernel_w + iw + w.pad_left - v.begin * w.stride_w;
    with_sizes(h.size(), v.size(), [&](auto rows, auto columns) HWY_ATTR {
      sweep(w.channels, [&](int64_t c, auto io) HWY_ATTR {
        Vec sum = hn::Zero(kFloats);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t q = 0; q < columns; ++q) {
            const int64_t from = first + (r * w.out_w + q) * w.channels + c;
            const int64_t k = kernel_place - r * w.stride_h * w.kernel_w - q * w.stride_w;
            Vec g = io.load(dy + from);
            if (output != nullptr) g = where_positive(io.load(output + from), g);
            const auto here = float_mask(hn::Eq(io.load(argmax + from), hn::Set(kInts, static_cast<int32_t>(k))));
            sum = hn::Add(sum, hn::IfThenElseZero(here, g));
          }
        }
        io.store(sum, to_line + place + c);
      });
    });
  });
}

/// Input lines `line` and `line` + 1, the first two of window line `oh` > 0, with max_backward_square().
void max_backward_squares(const PoolWindow& w, const float* dy, const uint8_t* argmax, const float* output,
                          int64_t line, int64_t oh, float* dx) {
  const int64_t windows = std::min(w.out_w, (w.in_w + w.pad_left) / 2);  // whose squares are inside
  const int64_t begin = std::min(w.in_w, 2 - w.pad_left), end = std::max(begin, 2 * windows - w.pad_left);
  for (int64_t below = 0; below < 2; ++below) {
    max_backward_gather(w, dy, argmax, output, line + below, 0, begin, dx);
    max_backward_gather(w, dy, argmax, output, line + below, end, w.in_w, dx);
  }
  const int64_t first = (line / w.in_h * w.out_h + oh - 1) * w.out_w * w.channels;
  float* to = dx + (line * w.in_w + begin) * w.channels;
  for (int64_t ow = 1; ow < windows; ++ow, to += 2 * w.channels) {
    const int64_t from = first + (ow - 1) * w.channels;
    if (output == nullptr)
      max_backward_square<false>(w, dy + from, argmax + from, nullptr, to);
    else
      max_backward_square<true>(w, dy + from, argmax + from, output + from, to);
  }
}

/// Strides [begin, end) of all rows * strides_of(w): input lines from the start of a window to that of the next.
void max_backward_piece(const PoolWindow& w, const float* dy, const uint8_t* argmax, const float* output, int64_t begin,
                        int64_t end, float* dx) {
  const int64_t strides = strides_of(w);
  for (int64_t stride = begin; stride < end; ++stride) {
    const int64_t oh = stride % strides, top = oh * w.stride_h - w.pad_top, sample = stride / strides * w.in_h;
    if (is_three_by_two(w) && oh > 0 && oh < w.out_h && top + 2 <= w.in_h) {
      max_backward_squares(w, dy, argmax, output, sample + top, oh, dx);
      continue;
    }
    const int64_t last = std::min(w.in_h, top + w.stride_h);
    for (int64_t ih = std::max<int64_t>(0, top); ih < last; ++ih)
      max_backward_gather(w, dy, argmax, output, sample + ih, 0, w.in_w, dx);
  }
}

void avg_forward_row(const PoolWindow& w, const float* x, float* y) {
  for_each_window(w, [&](int64_t at, const Span& h, const Span& v) HWY_ATTR {
    const Vec share = splat(1.0F / static_cast<float>(h.size() * v.size()));
    sweep(w.channels, [&](int64_t c, auto io) HWY_ATTR {
      Vec sum = hn::Zero(kFloats);
      for_each_position(w, h, v,
                        [&](int64_t position, int64_t) HWY_ATTR { sum = hn::Add(sum, io.load(x + position + c)); });
      io.store(hn::Mul(sum, share), y + at * w.channels + c);
    });
  });
}

void avg_backward_piece(const PoolWindow& w, const float* dy, int64_t begin, int64_t end, float* dx) {
  const auto share_of = [&](int64_t oh, int64_t ow) HWY_ATTR {
    const Span h(oh, w.stride_h, w.pad_top, w.kernel_h, w.in_h), v(ow, w.stride_w, w.pad_left, w.kernel_w, w.in_w);
    return splat(1.0F / static_cast<float>(h.size() * v.size()));
  };
  for (int64_t line = begin; line < end; ++line) {
    const int64_t sample = line / w.in_h * w.out_h * w.out_w;
    float* const to_line = dx + line * w.in_w * w.channels;
    for_each_input(w, line % w.in_h, 0, w.in_w, [&](int64_t place, int64_t, const Cover& h, const Cover& v) HWY_ATTR {
      float* const to = to_line + place;
      bool first = true;
      for (int64_t oh = h.begin; oh < h.end; ++oh) {
        for (int64_t ow = v.begin; ow < v.end; ++ow) {
          const Vec share = share_of(oh, ow);
          const float* const from = dy + (sample + oh * w.out_w + ow) * w.channels;
          sweep(w.channels, [&](int64_t c, auto io) HWY_ATTR {
            const Vec g = hn::Mul(io.load(from + c), share);
            io.store(first ? g : hn::Add(io.load(to + c), g), to + c);
          });
          first = false;
        }
      }
      if (first) std::memset(to, 0, static_cast<size_t>(w.channels) * sizeof(float));
    });
  }
}

void global_avg_forward_row(const float* x, int64_t spatial, int64_t channels, float* y) {
  column_sums(x, spatial, channels, y);
  const Vec share = splat(1.0F / static_cast<float>(spatial));
  map(
      channels, y, [=](Vec sum) HWY_ATTR { return hn::Mul(sum, share); }, y);
}

void global_avg_backward_row(const float* dy, int64_t spatial, int64_t channels, float* dx) {
  const Vec share = splat(1.0F / static_cast<float>(spatial));
  for (int64_t s = 0; s < spatial; ++s)
    map(
        channels, dx + s * channels, [=](Vec g) HWY_ATTR { return hn::Mul(g, share); }, dy);
}

void global_max_forward_row(const float* x, int64_t spatial, int64_t channels, float* y, int32_t* argmax) {
  sweep(channels, [&](int64_t c, auto io) HWY_ATTR {
    Best best(io.load(x + c), 0);
    for (int64_t s = 1; s < spatial; ++s) best.update_max(io.load(x + s * channels + c), s);
    io.store(best.value, y + c);
    if (argmax != nullptr) io.store(best.index, argmax + c);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(max_forward_piece);
HWY_EXPORT(max_backward_pairs_piece);
HWY_EXPORT(max_backward_piece);
HWY_EXPORT(avg_forward_row);
HWY_EXPORT(avg_backward_piece);
HWY_EXPORT(global_avg_forward_row);
HWY_EXPORT(global_avg_backward_row);
HWY_EXPORT(global_max_forward_row);

namespace {

struct Sizes {
  int64_t in, out;
  explicit Sizes(const PoolWindow& w) : in(w.in_h * w.in_w * w.channels), out(w.out_h * w.out_w * w.channels) {}
};

/// Lines of a piece, so that its input has about kPieceElements.
int64_t lines_per_piece(const PoolWindow& w) { return rows_per_piece(w.stride_h * w.in_w * w.channels); }

}  // namespace

void max_pool_forward(const Launch&, DType, const PoolWindow& window, const float* x, int64_t rows, float* y,
                      uint8_t* argmax) {
  parallel_ranges(rows * window.out_h, lines_per_piece(window), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(max_forward_piece)(window, x, begin, end, y, argmax);
  });
}

void max_pool_backward(const Launch&, DType, const PoolWindow& window, const float* dy, const uint8_t* argmax,
                       const float* output, int64_t rows, float* dx) {
  if (HWY_STATIC_DISPATCH(is_two_by_two)(window)) {
    parallel_ranges(rows * window.out_h, lines_per_piece(window), [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(max_backward_pairs_piece)(window, dy, argmax, output, begin, end, dx);
    });
    return;
  }
  const int64_t strides = rows * HWY_STATIC_DISPATCH(strides_of)(window);
  parallel_ranges(strides, lines_per_piece(window), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(max_backward_piece)(window, dy, argmax, output, begin, end, dx);
  });
}

void avg_pool_forward(const Launch&, DType, const PoolWindow& window, const float* x, int64_t rows, float* y) {
  const Sizes size(window);
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(avg_forward_row)(window, x + row * size.in, y + row * size.out);
  });
}

void avg_pool_backward(const Launch&, DType, const PoolWindow& window, const float* dy, int64_t rows, float* dx) {
  parallel_ranges(rows * window.in_h, rows_per_piece(window.in_w * window.channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(avg_backward_piece)(window, dy, begin, end, dx);
  });
}

void global_avg_forward(const Launch&, DType, const float* x, int64_t rows, int64_t spatial, int64_t channels,
                        float* y) {
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(global_avg_forward_row)(x + row * spatial * channels, spatial, channels, y + row * channels);
  });
}

void global_avg_backward(const Launch&, DType, const float* dy, int64_t rows, int64_t spatial, int64_t channels,
                         float* dx) {
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(global_avg_backward_row)
    (dy + row * channels, spatial, channels, dx + row * spatial * channels);
  });
}

void global_max_forward(const Launch&, DType, const float* x, int64_t rows, int64_t spatial, int64_t channels, float* y,
                        int32_t* argmax) {
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(global_max_forward_row)
    (x + row * spatial * channels, spatial, channels, y + row * channels,
     argmax == nullptr ? nullptr : argmax + row * channels);
  });
}

void global_max_backward(const Launch&, DType, const float* dy, const int32_t* argmax, int64_t rows, int64_t spatial,
                         int64_t channels, float* dx) {
  parallel_for(rows, [&](int64_t row) {
    float* to = dx + row * spatial * channels;
    std::memset(to, 0, static_cast<size_t>(spatial * channels) * sizeof(float));
    for (int64_t c = 0; c < channels; ++c) to[argmax[row * channels + c] * channels + c] = dy[row * channels + c];
  });
}

}  // namespace dptrain::kernels::cpu
#endif
