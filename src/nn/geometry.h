#pragma once

// Arithmetic of windows, sides and extents in one, two and three dimensions (Keras's rules, TensorFlow's SAME and
// VALID), and their keys in a config. Pure functions, any thread.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "config/value.h"
#include "core/shape.h"

namespace dptrain::nn {

/// Bound of every extent that a config can name: products of a few of them stay within 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

/// A key's check that extents stay within it; a range would put the bound into every message.
struct Bounded {
  std::string operator()(std::int64_t extent) const;
  std::string operator()(const Size2& size) const { return (*this)(std::max(size.h, size.w)); }
  std::string operator()(const std::optional<Size2>& size) const { return size ? (*this)(*size) : ""; }
  std::string operator()(const Shape& shape) const;
};

/// kCausal is Conv1D's (StepsPadding): no key of type Padding takes it.
enum class Padding { kValid, kSame, kCausal };

/// One axis of a window: out = valid: floor((in - ke) / s) + 1, same and causal: ceil(in / s), ke = (k - 1) * dilation
/// + 1; same pads total = max((out - 1) * s + ke - in, 0), floor(total / 2) before, the rest (the extra one) after;
/// causal pads ke - 1 before.
struct WindowAxis {
  std::int64_t out = 0, pad_before = 0, pad_after = 0;
};
WindowAxis window_axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       Padding padding);

struct Window {
  WindowAxis h, w;
};
/// `in` is [H, W, C]. Throws LayerError when a valid window does not fit ("window 9x9 is larger than the input 4x4").
Window window(const Shape& in, Size2 kernel, Size2 strides, Size2 dilation, Padding padding);
/// Throws LayerError where both are beyond 1, as Keras does.
void refuse_strided_dilation(Size2 strides, Size2 dilation);
/// [H', W', C * multiplier] of a depthwise convolution over [H, W, C]. Throws LayerError.
Shape depthwise_output(const Shape& in, Size2 kernel, Size2 strides, Size2 dilation, Padding padding,
                       std::int64_t multiplier);
/// Throws LayerError where the groups do not divide both.
void check_groups(std::int64_t groups, std::int64_t channels, std::int64_t filters);
/// C * multiplier. Throws LayerError beyond kMaxExtent.
std::int64_t multiplied_channels(std::int64_t channels, std::int64_t multiplier);
/// [H', W', C] of a pooling over [H, W, C].
Shape pooled(const Shape& in, Size2 pool_size, Size2 strides, Padding padding);

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::Padding> {
  static constexpr std::array names{std::pair{dptrain::nn::Padding::kValid, "valid"},
                                    std::pair{dptrain::nn::Padding::kSame, "same"}};
};

namespace dptrain::nn {

/// Rows and columns at the four sides of [H, W, C], as ZeroPadding2D adds and Cropping2D takes away. In a config: n,
/// [symmetric_h, symmetric_w] or [[top, bottom], [left, right]].
struct Sides {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// Steps at the two ends of [steps, channels]. In a config: n for both, or [before, after].
struct Ends {
  std::int64_t before = 0, after = 0;
};

/// A key's check that each is Bounded.
struct BoundedSides {
  std::string operator()(const Sides& sides) const;
  std::string operator()(const Ends& ends) const;
};

/// The sides of an image of height 1.
inline Sides along(const Ends& ends) { return {.left = ends.before, .right = ends.after}; }

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::Sides> {
  static bool read(const Node&, Reader&, nn::Sides& out);
  static Node write(const nn::Sides&);
  static Node schema();
};
template <>
struct Value<nn::Ends> {
  static bool read(const Node&, Reader&, nn::Ends& out);
  static Node write(const nn::Ends&);
  static Node schema();
};
}  // namespace dptrain::config

// What layers over steps, [steps, channels], have in common: extents of one axis in a config, windows along it, and the
// layer over images of height 1 that computes the same. Pure functions, any thread.

namespace dptrain::nn {

/// A number of steps. In a config: n or, as Keras writes it, [n].
struct Extent {
  std::int64_t n = 1;
  bool operator==(const Extent&) const = default;
};

/// A key's check that extents are Bounded.
struct BoundedExtent {
  std::string operator()(const Extent& extent) const { return Bounded{}(extent.n); }
  std::string operator()(const std::optional<Extent>& extent) const { return extent ? (*this)(*extent) : ""; }
};

/// How many windows there are along the steps of `in`. Throws LayerError where none fits ("window 9 is larger than the
/// 4 steps of {0}").
std::int64_t windows(const Shape& in, Extent kernel, Extent stride, Extent dilation, Padding padding);

/// Along the width.
inline Size2 along(Extent extent) { return {1, extent.n}; }
inline std::optional<Size2> along(const std::optional<Extent>& extent) {
  return extent ? std::optional(along(*extent)) : std::nullopt;
}

/// A convolution's sister over images: window and bias. The rest of what its op reads is the caller's.
template <class Image, class Spec>
Image over_images(const Spec& spec) {
  Image image;
  image.kernel_size = along(spec.kernel_size);
  image.strides = along(spec.strides);
  image.dilation_rate = along(spec.dilation_rate);
  image.use_bias = spec.use_bias;
  return image;
}

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::Extent> {
  static bool read(const Node&, Reader&, nn::Extent& out);
  static Node write(const nn::Extent&);
  static Node schema();
};
}  // namespace dptrain::config

// What layers over volumes and clips, [depth, height, width, channels], have in common: extents of three axes in a
// config, windows over them, and how a window falls into one over frames and one along the depth. Pure functions, any
// thread.

namespace dptrain::nn {

/// Depth (of clips: time), height and width, in that order everywhere. In a config: n for all, or [depth, height,
/// width].
struct Size3 {
  std::int64_t d = 1, h = 1, w = 1;
  bool operator==(const Size3&) const = default;
};

/// Frames, rows and columns at the six sides of [D, H, W, C]. In a config: n, [depth, height, width] or [[before,
/// after], [top, bottom], [left, right]].
struct VolumeSides {
  Ends depth, height, width;
};

/// A key's check that each is Bounded.
struct BoundedVolume {
  std::string operator()(const Size3& size) const { return Bounded{}(std::max({size.d, size.h, size.w})); }
  std::string operator()(const std::optional<Size3>& size) const { return size ? (*this)(*size) : ""; }
  std::string operator()(const VolumeSides& sides) const;
};

/// [D', H', W', channels]: how many windows there are over `in`. Throws LayerError where none fits ("window 1x9x9 is
/// larger than the input 4x4x4").
Shape volume_windows(const Shape& in, Size3 kernel, Size3 strides, Size3 dilation, Padding padding,
                     std::int64_t channels);

/// Throws LayerError where both are beyond 1, as Keras does.
void refuse_strided_dilation(Size3 strides, Size3 dilation);

/// Of a frame.
inline Size2 within_frame(Size3 size) { return {size.h, size.w}; }
inline Sides within_frame(const VolumeSides& sides) {
  return {sides.height.before, sides.height.after, sides.width.before, sides.width.after};
}
/// Along the depth, as the height of an image [depth, height * width, channels].
inline Size2 along_depth(Size3 size) { return {size.d, 1}; }
inline Sides along_depth(const VolumeSides& sides) { return {.top = sides.depth.before, .bottom = sides.depth.after}; }

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::Size3> {
  static bool read(const Node&, Reader&, nn::Size3& out);
  static Node write(const nn::Size3&);
  static Node schema();
};
template <>
struct Value<nn::VolumeSides> {
  static bool read(const Node&, Reader&, nn::VolumeSides& out);
  static Node write(const nn::VolumeSides&);
  static Node schema();
};
}  // namespace dptrain::config
