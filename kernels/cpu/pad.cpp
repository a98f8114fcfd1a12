#include "kernels/cpu/pad.h"

#include <cstring>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {

namespace {

size_t bytes(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

struct Strides {
  int64_t in_line, out_line, out_h;
  explicit Strides(const Padding& p)
      : in_line(p.in_w * p.channels),
        out_line((p.left + p.in_w + p.right) * p.channels),
        out_h(p.top + p.in_h + p.bottom) {}
};

}  // namespace

void zero_pad_forward(const Launch&, DType, const Padding& padding, const float* x, int64_t rows, float* y) {
  const Strides s(padding);
  const int64_t left = padding.left * padding.channels, right = padding.right * padding.channels;
  parallel_ranges(rows * s.out_h, rows_per_piece(s.out_line), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      float* to = y + line * s.out_line;
      const int64_t in_h = line % s.out_h - padding.top;
      if (in_h < 0 || in_h >= padding.in_h) {
        std::memset(to, 0, bytes(s.out_line));
        continue;
      }
      std::memset(to, 0, bytes(left));
      std::memcpy(to + left, x + (line / s.out_h * padding.in_h + in_h) * s.in_line, bytes(s.in_line));
      std::memset(to + left + s.in_line, 0, bytes(right));
    }
  });
}

void zero_pad_backward(const Launch&, DType, const Padding& padding, const float* dy, int64_t rows, float* dx) {
  const Strides s(padding);
  parallel_ranges(rows * padding.in_h, rows_per_piece(s.in_line), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t out = line / padding.in_h * s.out_h + padding.top + line % padding.in_h;
      std::memcpy(dx + line * s.in_line, dy + out * s.out_line + padding.left * padding.channels, bytes(s.in_line));
    }
  });
}

void insert_zero_pixels(const ZeroInsertion& s, const float* x, int64_t rows, float* y) {
  const int64_t step = s.stride_w * s.channels, line_floats = s.out_w * s.channels;
  parallel_ranges(rows * s.out_h, rows_per_piece(line_floats), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      float* const to = y + line * line_floats;
      const int64_t image = line / s.out_h, h = line % s.out_h;
      if (h % s.stride_h != 0 || h / s.stride_h >= s.in_h) {
        std::memset(to, 0, bytes(line_floats));
        continue;
      }
      const float* const from = x + (image * s.in_h + h / s.stride_h) * s.in_w * s.channels;
      for (int64_t w = 0; w < s.in_w; ++w) {
        float* const pixel = to + w * step;
        std::memcpy(pixel, from + w * s.channels, bytes(s.channels));
        std::memset(pixel + s.channels, 0, bytes((w + 1 < s.in_w ? step : line_floats - w * step) - s.channels));
      }
    }
  });
}

void copy_columns(const Launch&, DType, const float* src, int64_t src_stride, float* dst, int64_t dst_stride,
                  int64_t rows, int64_t width) {
  parallel_ranges(rows, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      std::memcpy(dst + row * dst_stride, src + row * src_stride, bytes(width));
  });
}

}  // namespace dptrain::kernels::cpu
