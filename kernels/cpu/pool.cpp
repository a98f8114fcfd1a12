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

/// Output lines [begin, end) of all rows * out_h lines, 2x2 windows: no two lines touch the same input line.
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

void max_backward_row(const PoolWindow& w, const float* dy, const uint8_t* argmax, const float* output, float* dx) {
  std::memset(dx, 0, static_cast<size_t>(w.in_h * w.in_w * w.channels) * sizeof(float));
  for_each_window(w, [&](int64_t at, const Span& h, const Span& v) HWY_ATTR {
    sweep(w.channels, [&](int64_t c, auto io) HWY_ATTR {
      const int64_t out = at * w.channels + c;
      Vec g = io.load(dy + out);
      if (output != nullptr) g = where_positive(io.load(output + out), g);
      const IntVec index = io.load(argmax + out);
      for_each_position(w, h, v, [&](int64_t position, int64_t k) HWY_ATTR {
        float* to = dx + position + c;
        const auto here = float_mask(hn::Eq(index, hn::Set(kInts, static_cast<int32_t>(k))));
        io.store(hn::Add(io.load(to), hn::IfThenElseZero(here, g)), to);
      });
    });
  });
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

void avg_backward_row(const PoolWindow& w, const float* dy, float* dx) {
  std::memset(dx, 0, static_cast<size_t>(w.in_h * w.in_w * w.channels) * sizeof(float));
  for_each_window(w, [&](int64_t at, const Span& h, const Span& v) HWY_ATTR {
    const Vec share = splat(1.0F / static_cast<float>(h.size() * v.size()));
    sweep(w.channels, [&](int64_t c, auto io) HWY_ATTR {
      const Vec g = hn::Mul(io.load(dy + at * w.channels + c), share);
      for_each_position(w, h, v, [&](int64_t position, int64_t) HWY_ATTR {
        io.store(hn::Add(io.load(dx + position + c), g), dx + position + c);
      });
    });
  });
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
    for (int64_t s = 1; s < spatial; ++s) best.meet(io.load(x + s * channels + c), s);
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
HWY_EXPORT(max_backward_row);
HWY_EXPORT(avg_forward_row);
HWY_EXPORT(avg_backward_row);
HWY_EXPORT(global_avg_forward_row);
HWY_EXPORT(global_avg_backward_row);
HWY_EXPORT(global_max_forward_row);

namespace {

struct Sizes {
  int64_t in, out;
  explicit Sizes(const PoolWindow& w) : in(w.in_h * w.in_w * w.channels), out(w.out_h * w.out_w * w.channels) {}
};

/// Lines in a piece, such that the input of a piece has about kPieceElements.
int64_t lines_per_piece(const PoolWindow& w) { return rows_per_piece(w.stride_h * w.in_w * w.channels); }

}  // namespace

void max_pool_forward(const PoolWindow& window, const float* x, int64_t rows, float* y, uint8_t* argmax) {
  parallel_ranges(rows * window.out_h, lines_per_piece(window), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(max_forward_piece)(window, x, begin, end, y, argmax);
  });
}

void max_pool_backward(const PoolWindow& window, const float* dy, const uint8_t* argmax, const float* output,
                       int64_t rows, float* dx) {
  if (HWY_STATIC_DISPATCH(is_two_by_two)(window)) {
    parallel_ranges(rows * window.out_h, lines_per_piece(window), [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(max_backward_pairs_piece)(window, dy, argmax, output, begin, end, dx);
    });
    return;
  }
  const Sizes size(window);
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(max_backward_row)
    (window, dy + row * size.out, argmax + row * size.out, output == nullptr ? nullptr : output + row * size.out,
     dx + row * size.in);
  });
}

void avg_pool_forward(const PoolWindow& window, const float* x, int64_t rows, float* y) {
  const Sizes size(window);
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(avg_forward_row)(window, x + row * size.in, y + row * size.out);
  });
}

void avg_pool_backward(const PoolWindow& window, const float* dy, int64_t rows, float* dx) {
  const Sizes size(window);
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(avg_backward_row)(window, dy + row * size.out, dx + row * size.in);
  });
}

void global_avg_forward(const float* x, int64_t rows, int64_t spatial, int64_t channels, float* y) {
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(global_avg_forward_row)(x + row * spatial * channels, spatial, channels, y + row * channels);
  });
}

void global_avg_backward(const float* dy, int64_t rows, int64_t spatial, int64_t channels, float* dx) {
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(global_avg_backward_row)
    (dy + row * channels, spatial, channels, dx + row * spatial * channels);
  });
}

void global_max_forward(const float* x, int64_t rows, int64_t spatial, int64_t channels, float* y, int32_t* argmax) {
  parallel_for(rows, [&](int64_t row) {
    HWY_DYNAMIC_DISPATCH(global_max_forward_row)
    (x + row * spatial * channels, spatial, channels, y + row * channels,
     argmax == nullptr ? nullptr : argmax + row * channels);
  });
}

void global_max_backward(const float* dy, const int32_t* argmax, int64_t rows, int64_t spatial, int64_t channels,
                         float* dx) {
  parallel_for(rows, [&](int64_t row) {
    float* to = dx + row * spatial * channels;
    std::memset(to, 0, static_cast<size_t>(spatial * channels) * sizeof(float));
    for (int64_t c = 0; c < channels; ++c) to[argmax[row * channels + c] * channels + c] = dy[row * channels + c];
  });
}

}  // namespace dptrain::kernels::cpu
#endif
