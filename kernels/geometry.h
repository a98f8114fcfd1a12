#pragma once

// What kernels compute over: windows, shapes and strides, the same for kernels/cpu and kernels/cuda. Plain data.

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

/// Pooling. Every window overlaps the input in at least one position. Positions outside the input are no candidates for
/// the maximum and do not count in the mean.
struct PoolWindow {
  int64_t in_h, in_w, channels;
  int64_t out_h, out_w;
  int64_t kernel_h, kernel_w;
  int64_t stride_h, stride_w;
  int64_t pad_top, pad_left;
};

/// The largest kernel_h * kernel_w that max pooling accepts: positions are kept in one byte. Checked by the caller.
inline constexpr int64_t kMaxPoolWindow = 255;

/// [rows, in_h, in_w, channels] resized to [rows, out_h, out_w, channels]. The centres of outputs are spread evenly
/// over the input. Bilinear: between the centres of the input's pixels, clamped to the outermost ones; else the pixel
/// that contains the centre, of two the later one.
struct UpsampleShape {
  int64_t in_h, in_w, channels;
  int64_t out_h, out_w;
  bool bilinear;
};

/// One axis of it, in whole numbers of 1 / (2 out) pixels of the input: of 64 bits, or of 32 where fits_32_bits(), for
/// a GPU divides 64 bits slowly.
template <class Int>
struct UpsampleAxisOf {
  Int in, out;
  bool bilinear;

  /// Where output o lies: (1 - share) of input `low` and `share` of `high`.
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
    // Half a pixel before, as the values stand at the centres; one pixel is added so that it is not negative.
    const Int at = centre - out + twice, above = quotient(at, twice);
    const float share = static_cast<float>(at - above * twice) / static_cast<float>(twice);
    return {above > 0 ? above - 1 : 0, above < in ? above : in - 1, share};
  }
  /// The outputs [begin, end) that input i is a part of, and how much of it is in output o.
  DPTRAIN_HOST_DEVICE Int begin(Int i) const { return first_beyond(bilinear ? 2 * i - 1 : 2 * i); }
  DPTRAIN_HOST_DEVICE Int end(Int i) const {
    return i == in - 1 ? out : first_beyond(bilinear ? 2 * i + 3 : 2 * i + 2);
  }
  DPTRAIN_HOST_DEVICE float part(Int i, Int o) const {
    const Place p = place(o);
    return (p.low == i ? 1.0F - p.share : 0.0F) + (p.high == i ? p.share : 0.0F);
  }

 private:
  /// The first output whose centre lies at `halves` half pixels or beyond.
  DPTRAIN_HOST_DEVICE Int first_beyond(Int halves) const {
    const Int above = halves * out - in;  // of 2 in for each output
    return above <= 0 ? 0 : quotient(above + 2 * in - 1, 2 * in);
  }
  /// a / b, neither negative.
  DPTRAIN_HOST_DEVICE static Int quotient(Int a, Int b) {
    using Unsigned = std::make_unsigned_t<Int>;
    return static_cast<Int>(static_cast<Unsigned>(a) / static_cast<Unsigned>(b));
  }
};
using UpsampleAxis = UpsampleAxisOf<int64_t>;

/// No number that an axis computes with is larger than 2 in out + 2 in + out.
inline bool fits_32_bits(const UpsampleShape& s) {
  const auto fits = [](int64_t in, int64_t out) { return (in + 1) * (out + 1) <= INT32_MAX / 2; };
  return s.in_h < INT32_MAX && s.in_w < INT32_MAX && s.out_h < INT32_MAX && s.out_w < INT32_MAX &&
         fits(s.in_h, s.out_h) && fits(s.in_w, s.out_w);
}

/// Convolution. Images are [rows, in_h, in_w, in_channels] and [rows, out_h, out_w, out_channels], weights
/// [kernel_h, kernel_w, in_channels / groups, out_channels] (on GPUs: backend/gpu/convolution.h). What a window reads
/// outside the image is zero.
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

/// Where a 2x2 max-pooling behind a ReLU took nothing; elsewhere 2 * row + column of the window's first largest value.
inline constexpr uint8_t kNothingTaken = 4;

/// Depthwise convolution. Images are [rows, in_h, in_w, channels] and [rows, out_h, out_w, channels * multiplier],
/// weights [kernel_h, kernel_w, channels * multiplier]: output channel o reads input channel o / multiplier. On neither
/// axis are both stride and dilation beyond 1.
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

/// A window along the depth of a volume. The volume [rows, in_d, positions, groups, channels] is split into slabs
/// [rows, out_d, positions, groups, kernel, channels]: slab k of window o is frame o * stride + k * dilation - pad, and
/// zero where the volume has none.
struct DepthWindow {
  int64_t in_d, out_d;
  int64_t positions, groups, channels;
  int64_t kernel, stride, dilation, pad;

  int64_t frame_elements() const { return positions * groups * channels; }
  int64_t volume_elements() const { return in_d * frame_elements(); }
  int64_t slab_elements() const { return out_d * kernel * frame_elements(); }
  /// The slabs are the volume.
  bool is_identity() const { return kernel == 1 && stride == 1 && pad == 0 && in_d == out_d; }
};

/// The order of frames: [rows, steps, ...] or [steps, rows, ...], in which all rows of a step are one batch. A frame is
/// `pixels` of `channels` each; in the order of steps it lies at `offset` of pixels `stride` apart.
struct FramesShape {
  std::int64_t rows = 0, steps = 0, pixels = 0, channels = 0, stride = 0, offset = 0;

  std::int64_t elements() const { return rows * steps * pixels * channels; }
};

/// How the outputs of two recurrent passes, one through time and one against it, become one.
enum class DirectionMerge { kConcat, kSum, kMul, kAve };

/// The outputs of each pass are [rows, steps, units] in the order in which it took the steps, or with `steps` 1 those
/// of its last step. Step t of a row is merged from number t of the forward pass and number steps - 1 - t of the
/// backward one, to [units] or, side by side, [2 units]; zeros where the mask leaves it out.
struct DirectionShape {
  std::int64_t rows = 0, steps = 1, units = 0;
  DirectionMerge merge = DirectionMerge::kConcat;
  const std::uint8_t* mask = nullptr;  ///< [rows, steps]; null: every step is valid

  std::int64_t width() const { return merge == DirectionMerge::kConcat ? 2 * units : units; }
};

struct AttentionShape {
  int64_t heads = 1, queries = 0, keys = 0, key_dim = 0, value_dim = 0;
  /// Scores are scale * q k', or additive ones, the sum over d of w_d tanh(scale (q_d + k_d)): with a weight for each
  /// d, or one for all.
  bool additive = false, one_weight = false;
  float scale = 1;
  bool causal = false;  ///< query i sees the keys [0, i]
  /// A query that sees no key at all takes the mean of all values. Whether its scores have gradients all the same
  /// (Keras's Attention lowers hidden scores by 1e9), or none (MultiHeadAttention puts a constant in their place).
  bool blind_scores_count = false;
};

/// Products of matrices and vectors with any strides. Of each sample c(i, j) = the sum over k of a(i, k) b(j, k), for i
/// < m, j < n, k < depth. Strides are in elements; a sample's part of a, b and c is m * depth, n * depth and m * n
/// elements long, without gaps.
struct StridedProduct {
  int64_t m, n, depth;
  int64_t a_i, a_k, b_j, b_k, c_i, c_j;
};

/// Lines through a sample's matrix, all of one length.
struct StridedLines {
  int64_t lines, length;
  int64_t line_stride, stride;  ///< from line to line, and along a line
};

/// Lines shorter than this are not made 1 long but divided by it (keras.backend.epsilon(), in ops.normalize).
inline constexpr float kShortestLine = 1e-7F;

/// A row of numbers spread over the axes of a larger row: outermost axis first, at least one.
struct SpreadAxes {
  static constexpr int kMost = 6;
  int axes = 0;
  int64_t extent[kMost] = {};
  int64_t stride[kMost] = {};  ///< in the row of numbers; 0: one number stands for all along the axis
  int64_t numbers = 1;         ///< of a row
  bool one_row = false;        ///< all rows have the numbers of row 0

  /// The number that stands for an element.
  DPTRAIN_HOST_DEVICE int64_t place(int64_t element) const {
    int64_t number = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      number += element % extent[axis] * stride[axis];
      element /= extent[axis];
    }
    return number;
  }
};

/// Normalization within samples of [rows, spatial, channels]: groups of adjacent channels.
struct GroupNorm {
  int64_t spatial, channels, groups;
  float epsilon;
  bool centered = true;  ///< false: the mean counts as zero (root mean square). Only for spatial == 1 and one group
};

}  // namespace dptrain::kernels
