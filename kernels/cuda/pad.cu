#include "kernels/cuda/pad.h"

#include "kernels/cuda/words.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Extents in words: [rows, out_h, out_w] with [rows, in_h, in_w] inside at (top, left).
struct Frame {
  std::int64_t in_h, in_w, out_h, out_w, top, left;
};

template <class Word>
__global__ void pad_kernel(const Frame f, const Word* x, std::int64_t words, Word* y) {
  for (std::int64_t i = thread_number(); i < words; i += thread_count()) {
    const Split line = split(i, f.out_w), place = split(line.quotient, f.out_h);
    const std::int64_t h = place.remainder - f.top, w = line.remainder - f.left;
    Word word{};
    if (h >= 0 && h < f.in_h && w >= 0 && w < f.in_w) word = x[(place.quotient * f.in_h + h) * f.in_w + w];
    y[i] = word;
  }
}

template <class Word>
__global__ void crop_kernel(const Frame f, const Word* dy, std::int64_t words, Word* dx) {
  for (std::int64_t i = thread_number(); i < words; i += thread_count()) {
    const Split line = split(i, f.in_w), place = split(line.quotient, f.in_h);
    dx[i] = dy[(place.quotient * f.out_h + place.remainder + f.top) * f.out_w + line.remainder + f.left];
  }
}

template <class Word>
Frame frame_of(DType type, const Padding& p) {
  const std::int64_t pixel = in_words<Word>(type, p.channels);
  return {.in_h = p.in_h,
          .in_w = p.in_w * pixel,
          .out_h = p.top + p.in_h + p.bottom,
          .out_w = (p.left + p.in_w + p.right) * pixel,
          .top = p.top,
          .left = p.left * pixel};
}

template <class Word>
__global__ void copy_columns_kernel(const Word* src, std::int64_t src_stride, Word* dst, std::int64_t dst_stride,
                                    std::int64_t words, std::int64_t width) {
  for (std::int64_t i = thread_number(); i < words; i += thread_count()) {
    const Split place = split(i, width);
    dst[place.quotient * dst_stride + place.remainder] = src[place.quotient * src_stride + place.remainder];
  }
}

}  // namespace

void zero_pad_forward(const Launch& at, DType type, const Padding& padding, const void* x, std::int64_t rows, void* y) {
  if (rows <= 0) return;
  with_word(type, {padding.channels}, {x, y}, [&](auto zero) {
    using Word = decltype(zero);
    const Frame frame = frame_of<Word>(type, padding);
    const std::int64_t words = rows * frame.out_h * frame.out_w;
    const auto kernel = pad_kernel<Word>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, words), kBlock, frame, static_cast<const Word*>(x), words,
                        static_cast<Word*>(y));
  });
}

void zero_pad_backward(const Launch& at, DType type, const Padding& padding, const void* dy, std::int64_t rows,
                       void* dx) {
  if (rows <= 0) return;
  with_word(type, {padding.channels}, {dy, dx}, [&](auto zero) {
    using Word = decltype(zero);
    const Frame frame = frame_of<Word>(type, padding);
    const std::int64_t words = rows * frame.in_h * frame.in_w;
    const auto kernel = crop_kernel<Word>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, words), kBlock, frame, static_cast<const Word*>(dy), words,
                        static_cast<Word*>(dx));
  });
}

void copy_columns(const Launch& at, DType type, const void* src, std::int64_t src_stride, void* dst,
                  std::int64_t dst_stride, std::int64_t rows, std::int64_t width) {
  if (rows <= 0 || width <= 0) return;
  with_word(type, {src_stride, dst_stride, width}, {src, dst}, [&](auto zero) {
    using Word = decltype(zero);
    const std::int64_t columns = in_words<Word>(type, width), words = rows * columns;
    const auto kernel = copy_columns_kernel<Word>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, words), kBlock, static_cast<const Word*>(src),
                        in_words<Word>(type, src_stride), static_cast<Word*>(dst), in_words<Word>(type, dst_stride),
                        words, columns);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
