#include "kernels/cpu/upsample.h"

#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/upsample.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void upsample_piece(const UpsampleShape& s, const float* x, int64_t begin, int64_t end, float* y) {
  const UpsampleAxis rows{s.in_h, s.out_h, s.bilinear}, columns{s.in_w, s.out_w, s.bilinear};
  const int64_t out_h = s.out_h, out_w = s.out_w, line_floats = s.in_w * s.channels;
  for (int64_t line = begin; line < end; ++line) {
    const UpsampleAxis::Place h = rows.place(line % out_h);
    const float* const image = x + line / out_h * s.in_h * line_floats;
    const float *const upper = image + h.low * line_floats, *const lower = image + h.high * line_floats;
    for (int64_t ow = 0; ow < out_w; ++ow) {
      const UpsampleAxis::Place w = columns.place(ow);
      const int64_t left = w.low * s.channels, right = w.high * s.channels;
      float* const to = y + (line * out_w + ow) * s.channels;
      if (!s.bilinear) {
        std::memcpy(to, upper + left, static_cast<size_t>(s.channels) * sizeof(float));
        continue;
      }
      const Vec across = splat(w.share), down = splat(h.share);
      sweep(s.channels, [&](int64_t c, auto io) HWY_ATTR {
        const auto mixed = [&](const float* from) HWY_ATTR {
          const Vec a = io.load(from + left + c), b = io.load(from + right + c);
          return hn::MulAdd(hn::Sub(b, a), across, a);
        };
        const Vec a = mixed(upper), b = mixed(lower);
        io.store(hn::MulAdd(hn::Sub(b, a), down, a), to + c);
      });
    }
  }
}

void upsample_backward_piece(const UpsampleShape& s, const float* dy, int64_t begin, int64_t end, float* dx) {
  const UpsampleAxis rows{s.in_h, s.out_h, s.bilinear}, columns{s.in_w, s.out_w, s.bilinear};
  const int64_t out_h = s.out_h, out_w = s.out_w;
  for (int64_t line = begin; line < end; ++line) {
    const int64_t h = line % s.in_h;
    const float* const image = dy + line / s.in_h * out_h * out_w * s.channels;
    for (int64_t w = 0; w < s.in_w; ++w) {
      float* const to = dx + (line * s.in_w + w) * s.channels;
      sweep(s.channels, [&](int64_t c, auto io) HWY_ATTR {
        Vec sum = hn::Zero(kFloats);
        for (int64_t oh = rows.begin(h); oh < rows.end(h); ++oh) {
          const float down = rows.part(h, oh);
          for (int64_t ow = columns.begin(w); ow < columns.end(w); ++ow)
            sum =
                hn::MulAdd(io.load(image + (oh * out_w + ow) * s.channels + c), splat(down * columns.part(w, ow)), sum);
        }
        io.store(sum, to + c);
      });
    }
  }
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(upsample_piece);
HWY_EXPORT(upsample_backward_piece);

void upsample_forward(const Launch&, DType, const UpsampleShape& shape, const float* x, int64_t rows, float* y) {
  const int64_t lines = rows * shape.out_h;
  parallel_ranges(lines, rows_per_piece(shape.out_w * shape.channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(upsample_piece)(shape, x, begin, end, y);
  });
}

void upsample_backward(const Launch&, DType, const UpsampleShape& shape, const float* dy, int64_t rows, float* dx) {
  parallel_ranges(rows * shape.in_h, rows_per_piece(shape.in_w * shape.channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(upsample_backward_piece)(shape, dy, begin, end, dx);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
