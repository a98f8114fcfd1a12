#pragma once

// How the first convolution iterates over a batch: blocks of lines, read in place or from a zero-padded copy.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/geometry.h"

namespace dptrain::kernels::cpu {

/// Output lines of one image; with pooling, pairs of lines. Blocks are numbered image by image.
struct LineBlock {
  int64_t image, first, count;
};
struct LineBlocks {
  int64_t lines, size, per_image;
  LineBlocks(int64_t lines_of_image, int64_t lines_of_block)
      : lines(lines_of_image),
        size(std::clamp<int64_t>(lines_of_block, 1, std::max<int64_t>(1, lines_of_image))),
        per_image(pieces_of(lines, size)) {}
  LineBlock at(int64_t block) const {
    const int64_t first = block % per_image * size;
    return {block / per_image, first, std::min(size, lines - first)};
  }
};

struct InputLines {
  const float* first;
  int64_t stride;
};

/// The lines of x that a block of output lines reads.
class InputBlocks {
 public:
  InputBlocks(const ConvWindow& w, int64_t block_lines)
      : w_(w),
        padded_w_((w.out_w - 1) * w.stride_w + w.kernel_w),
        in_place_(w.pad_top == 0 && w.pad_left == 0 && padded_w_ <= w.in_w &&
                  (w.out_h - 1) * w.stride_h + w.kernel_h <= w.in_h),
        scratch_(in_place_ ? 0 : input_lines(block_lines) * padded_w_ * w.in_channels) {}

  /// Floats of scratch memory for at().
  int64_t scratch() const { return scratch_; }

  /// Input of output lines [first, first + count) of an image, starting at the corner of the first window.
  InputLines at(const float* x, int64_t image, int64_t first, int64_t count, float* scratch) const {
    const int64_t line = w_.in_w * w_.in_channels, top = first * w_.stride_h - w_.pad_top;
    const float* const source = x + image * w_.in_h * line;
    if (in_place_) return {source + top * line, line};
    const int64_t padded_line = padded_w_ * w_.in_channels, left = w_.pad_left * w_.in_channels;
    const int64_t copied = std::clamp<int64_t>(padded_line - left, 0, line);
    for (int64_t i = 0; i < input_lines(count); ++i) {
      float* const to = scratch + i * padded_line;
      if (top + i < 0 || top + i >= w_.in_h) {
        std::memset(to, 0, bytes(padded_line));
        continue;
      }
      std::memset(to, 0, bytes(std::min(left, padded_line)));
      std::memcpy(to + left, source + (top + i) * line, bytes(copied));
      if (left + copied < padded_line) std::memset(to + left + copied, 0, bytes(padded_line - left - copied));
    }
    return {scratch, padded_line};
  }

 private:
  static size_t bytes(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }
  int64_t input_lines(int64_t count) const { return (count - 1) * w_.stride_h + w_.kernel_h; }

  ConvWindow w_;
  int64_t padded_w_;  ///< pixels that the windows of a line cover
  bool in_place_;
  int64_t scratch_;
};

}  // namespace dptrain::kernels::cpu
