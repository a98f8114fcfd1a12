#pragma once

// Windows, shapes and strides of kernels, shared by kernels/cpu and kernels/cuda. Plain data.

#include <compare>
#include <cstdint>
#include <type_traits>

#ifndef DPTRAIN_HOST_DEVICE
#if defined(__CUDACC__)
#define DPTRAIN_HOST_DEVICE __host__ __device__
#else
#define DPTRAIN_HOST_DEVICE
#endif
#endif

namespace dptrain::kernels {

/// Pooling. Every window overlaps the input. Positions outside it count neither for the maximum nor in the mean.
struct PoolWindow {
  int64_t in_h, in_w, channels;
  int64_t out_h, out_w;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t pad_top, pad_left;
};

/// Largest kernel_h * kernel_w of max pooling, which stores positions in a byte. Checked by the caller.
inline constexpr int64_t kMaxPoolWindow = 255;

/// Resizing of [rows, in_h, in_w, channels] to [rows, out_h, out_w, channels]. Output centres are spread evenly over
/// the input. Bilinear interpolates between pixel centres, clamped to the outermost ones. Otherwise the pixel that
/// contains the centre is taken; on a boundary, the later one.
struct UpsampleShape {
  int64_t in_h, in_w, channels;
  int64_t out_h, out_w;
  bool bilinear;
};

/// One axis of a resizing. Coordinates are integers in units of 1 / (2 out) input pixels. Int has 32 bits if
/// fits_32_bits(), because GPUs divide 64-bit integers slowly.
template <class Int>
struct UpsampleAxisOf {
  Int in, out;
  bool bilinear;

  /// Inputs of output o: (1 - share) of input `low` plus `share` of input `high`.
  struct Place {
    Int low, high;
    float share;
  };
  DPTRAIN_HOST_DEVICE Place place(Int o) const {
    const Int twice = 2 * out, centre = (2 * o + 1) * in;
    if (!bilinear) {
      const Int nearest = quotient(centre, twice);
      return {nearest, nearest, 0.0F};
    }
    // Subtracts half a pixel, since values are at pixel centres, and adds one pixel, so that `at` is not negative.
    const Int at = centre - out + twice, above = quotient(at, twice);
    const float share = static_cast<float>(at - above * twice) / static_cast<float>(twice);
    return {above > 0 ? above - 1 : 0, above < in ? above : in - 1, share};
  }
  /// Input i contributes to the outputs [begin, end); part() is its weight in output o.
  DPTRAIN_HOST_DEVICE Int begin(Int i) const { return first_beyond(bilinear ? 2 * i - 1 : 2 * i); }
  DPTRAIN_HOST_DEVICE Int end(Int i) const {
    return i == in - 1 ? out : first_beyond(bilinear ? 2 * i + 3 : 2 * i + 2);
  }
  DPTRAIN_HOST_DEVICE float part(Int i, Int o) const {
    const Place p = place(o);
    return (p.low == i ? 1.0F - p.share : 0.0F) + (p.high == i ? p.share : 0.0F);
  }

 private:
  /// The first output whose centre is at or after `halves` half pixels.
  DPTRAIN_HOST_DEVICE Int first_beyond(Int halves) const {
    const Int above = halves * out - in;
    return above <= 0 ? 0 : quotient(above + 2 * in - 1, 2 * in);
  }
  /// a / b for a, b >= 0.
  DPTRAIN_HOST_DEVICE static Int quotient(Int a, Int b) {
    using Unsigned = std::make_unsigned_t<Int>;
    return static_cast<Int>(static_cast<Unsigned>(a) / static_cast<Unsigned>(b));
  }
};
using UpsampleAxis = UpsampleAxisOf<int64_t>;

/// Whether 32 bits suffice: no intermediate value exceeds 2 in out + 2 in + out.
inline bool fits_32_bits(const UpsampleShape& s) {
  const auto fits = [](int64_t in, int64_t out) { return (in + 1) * (out + 1) <= INT32_MAX / 2; };
  return s.in_h < INT32_MAX && s.in_w < INT32_MAX && s.out_h < INT32_MAX && s.out_w < INT32_MAX &&
         fits(s.in_h, s.out_h) && fits(s.in_w, s.out_w);
}

/// Convolution. Images are [rows, in_h, in_w, in_channels] and [rows, out_h, out_w, out_channels], zero outside.
/// Weights are [kernel_h, kernel_w, in_channels / groups, out_channels] (on GPUs: backend/gpu/convolution.h).
struct ConvWindow {
  int64_t in_h = 1, in_w = 1, in_channels = 0;
  int64_t out_h = 1, out_w = 1, out_channels = 0;
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int64_t groups = 1;

  auto operator<=>(const ConvWindow&) const = default;

  constexpr int64_t taps() const { return kernel_h * kernel_w * in_channels / groups; }
  constexpr int64_t weights() const { return taps() * out_channels; }
  constexpr bool one_pixel() const { return kernel_h == 1 && kernel_w == 1; }
  constexpr bool strided() const { return stride_h != 1 || stride_w != 1; }
  constexpr bool dilated() const { return dilation_h != 1 || dilation_w != 1; }
};

/// Index of a 2x2 max pooling with ReLU if no value is positive; else 2 * row + column of the first largest value.
inline constexpr uint8_t kNoArgmax = 4;

/// Depthwise convolution. Images are [rows, in_h, in_w, channels] and [rows, out_h, out_w, channels * multiplier].
/// Weights are [kernel_h, kernel_w, channels * multiplier]: output channel o reads input channel o / multiplier. Each
/// axis may have a stride or a dilation above 1, not both.
struct DepthwiseShape {
  int64_t in_h, in_w, channels, multiplier;
  int64_t out_h, out_w;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t dilation_h, dilation_w;
  int64_t pad_top, pad_left;

  DPTRAIN_HOST_DEVICE constexpr int64_t out_channels() const { return channels * multiplier; }
  DPTRAIN_HOST_DEVICE constexpr int64_t weights() const { return kernel_h * kernel_w * out_channels(); }
};

/// A window along the depth of a volume [rows, in_d, positions, groups, channels]. Its slabs are [rows, out_d,
/// positions, groups, kernel, channels]. Slab k of window o is frame o * stride + k * dilation - pad; outside: zero.
struct DepthWindow {
  int64_t in_d, out_d;
  int64_t positions, groups, channels;
  int64_t kernel, stride, dilation, pad;

  int64_t frame_elements() const { return positions * groups * channels; }
  int64_t volume_elements() const { return in_d * frame_elements(); }
  int64_t slab_elements() const { return out_d * kernel * frame_elements(); }
  bool is_identity() const { return kernel == 1 && stride == 1 && pad == 0 && in_d == out_d; }
};

/// Frames of `pixels` of `channels` elements, as [rows, steps, ...] or [steps, rows, ...]. In the order by steps, pixel
/// p of all frames begins at element p * stride + offset.
struct FramesShape {
  std::int64_t rows = 0, steps = 0, pixels = 0, channels = 0, stride = 0, offset = 0;

  std::int64_t elements() const { return rows * steps * pixels * channels; }
};

/// Keras's merge_mode of a bidirectional layer.
enum class DirectionMerge { kConcat, kSum, kMul, kAve };

/// Each pass outputs [rows, steps, units] in the order in which it processes the steps, or its last step only if
/// `steps` is 1. Step t of the result merges output t of the forward pass and output steps - 1 - t of the backward
/// pass. A result has `units` values, or 2 units for kConcat; it is zero at masked steps.
struct DirectionShape {
  std::int64_t rows = 0, steps = 1, units = 0;
  DirectionMerge merge = DirectionMerge::kConcat;
  const std::uint8_t* mask = nullptr;  ///< [rows, steps]; null: every step is valid

  std::int64_t width() const { return merge == DirectionMerge::kConcat ? 2 * units : units; }
};

struct AttentionShape {
  int64_t heads = 1, queries = 0, keys = 0, key_dim = 0, value_dim = 0;
  /// Scores are scale * q k' or, if additive, sum over d of w_d tanh(scale (q_d + k_d)); one_weight: all w_d are equal.
  bool additive = false, one_weight = false;
  float scale = 1;
  bool causal = false;  ///< query i attends to the keys [0, i]
  /// Whether scores of a query without visible keys, which outputs the mean of all values, have gradients. True for
  /// Keras's Attention (subtracts 1e9 from masked scores), false for MultiHeadAttention (replaces them by a constant).
  bool fully_masked_scores_count = false;
};

/// Products with any strides: per sample, c(i, j) = sum over k < depth of a(i, k) b(j, k), for i < m and j < n. Strides
/// are in elements. Samples of a, b and c are contiguous with m * depth, n * depth and m * n elements.
struct StridedProduct {
  int64_t m, n, depth;
  int64_t a_i, a_k, b_j, b_k, c_i, c_j;
};

/// Lines of equal length through a sample's matrix.
struct StridedLines {
  int64_t lines, length;
  int64_t line_stride, stride;  ///< from line to line, and along a line
};

/// Lines shorter than this are divided by it instead of by their length (keras.backend.epsilon(), in ops.normalize).
inline constexpr float kShortestLine = 1e-7F;

/// Broadcasts a row of numbers over the axes of a larger row: outermost axis first, at least one.
struct BroadcastAxes {
  static constexpr int kMax = 6;
  int axes = 0;
  int64_t extent[kMax] = {};
  int64_t stride[kMax] = {};  ///< in the row of numbers; 0 along a broadcast axis
  int64_t numbers = 1;        ///< per row
  bool one_row = false;       ///< all rows use the numbers of row 0

  /// Index of the number for an element.
  DPTRAIN_HOST_DEVICE int64_t place(int64_t element) const {
    int64_t number = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      number += element % extent[axis] * stride[axis];
      element /= extent[axis];
    }
    return number;
  }
};

/// Normalization of groups of adjacent channels within samples of [rows, spatial, channels].
struct GroupNorm {
  int64_t spatial, channels, groups;
  float epsilon;
  bool centered = true;  ///< false: the mean is taken as zero (root mean square); only for spatial == 1 and one group
};

}  // namespace dptrain::kernels
