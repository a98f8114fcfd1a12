#pragma once

// Windows, margins and extents over steps, images and volumes (Keras's rules, TensorFlow's SAME and VALID), and their
// keys in a config. Pure functions, any thread.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"

namespace dptrain::nn {

/// Bound of every extent in a config: products of a few of them stay within 64 bits.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

/// A number of steps. In a config: n or, as Keras writes it, [n].
struct Extent {
  std::int64_t n = 1;
  bool operator==(const Extent&) const = default;
};

/// Depth (of clips: time), height and width, always in this order. In a config: n or [depth, height, width].
struct Size3 {
  std::int64_t d = 1, h = 1, w = 1;
  bool operator==(const Size3&) const = default;
};

/// The size of a window over `Rank` axes: steps, images, volumes.
template <int Rank>
using Size = std::tuple_element_t<Rank - 1, std::tuple<Extent, Size2, Size3>>;

/// One number for each axis of a sample without its channels.
using Axes = std::vector<std::int64_t>;
inline Axes axes(const Extent& size) { return {size.n}; }
inline Axes axes(const Size2& size) { return {size.h, size.w}; }
inline Axes axes(const Size3& size) { return {size.d, size.h, size.w}; }

/// Steps as the width of an image of height 1.
inline Size2 along(Extent extent) { return {1, extent.n}; }
inline std::optional<Size2> along(const std::optional<Extent>& extent) {
  return extent ? std::optional(along(*extent)) : std::nullopt;
}
inline Size2 within_frame(Size3 size) { return {size.h, size.w}; }
/// The depth as the height of an image [depth, height * width, channels].
inline Size2 along_depth(Size3 size) { return {size.d, 1}; }

/// Steps at the two ends of [steps, channels]. In a config: n for both, or [before, after].
struct Margins1D {
  std::int64_t before = 0, after = 0;
  std::int64_t sum() const { return before + after; }
};

/// Rows and columns at the four sides of [H, W, C]. In a config: n, [symmetric_h, symmetric_w] or [[top, bottom],
/// [left, right]].
struct Margins2D {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// Frames, rows and columns at the six sides of [D, H, W, C]. In a config: n, [depth, height, width] or [[before,
/// after], [top, bottom], [left, right]].
struct Margins3D {
  Margins1D depth, height, width;
};

/// Number of elements that a layer adds or removes at the ends of `Rank` axes.
template <int Rank>
using Margins = std::tuple_element_t<Rank - 1, std::tuple<Margins1D, Margins2D, Margins3D>>;

/// Describes how a key is written: "n", "n or [height, width]", "n or [depth, height, width]".
template <class Extents>
std::string extents_text(const Extents& extents) {
  static constexpr const char* kTexts[] = {"n", "n or [height, width]", "n or [depth, height, width]"};
  return kTexts[axes(extents).size() - 1];
}
/// "[H', W', C]" for rank 2, "'" and "C".
std::string shape_text(int rank, const std::string& mark = "", const std::string& channels = "C");
/// The sum of both ends of each axis.
inline Axes axes(const Margins1D& ends) { return {ends.sum()}; }
inline Axes axes(const Margins2D& sides) { return {sides.top + sides.bottom, sides.left + sides.right}; }
inline Axes axes(const Margins3D& sides) { return {sides.depth.sum(), sides.height.sum(), sides.width.sum()}; }

inline Margins2D along(const Margins1D& ends) { return {.left = ends.before, .right = ends.after}; }
inline Margins2D within_frame(const Margins3D& sides) {
  return {sides.height.before, sides.height.after, sides.width.before, sides.width.after};
}
inline Margins2D along_depth(const Margins3D& sides) {
  return {.top = sides.depth.before, .bottom = sides.depth.after};
}

/// Checks that no extent of a key exceeds kMaxExtent. A range check would add the bound to every message.
struct ExtentCheck {
  std::string operator()(std::int64_t extent) const;
  std::string operator()(const Extent& size) const { return (*this)(size.n); }
  std::string operator()(const Size2& size) const { return (*this)(std::max(size.h, size.w)); }
  std::string operator()(const Size3& size) const { return (*this)(std::max({size.d, size.h, size.w})); }
  std::string operator()(const Margins1D& ends) const { return (*this)(std::max(ends.before, ends.after)); }
  std::string operator()(const Margins2D& sides) const {
    return (*this)(std::max({sides.top, sides.bottom, sides.left, sides.right}));
  }
  std::string operator()(const Margins3D& sides) const;
  std::string operator()(const Shape& shape) const;
  template <class T>
  std::string operator()(const std::optional<T>& value) const {
    return value ? (*this)(*value) : "";
  }
};

/// kCausal is Conv1D's (StepsPadding): no key of type Padding accepts it.
enum class Padding { kValid, kSame, kCausal };

/// One axis of a window. With ke = (k - 1) * dilation + 1:
///   valid:  out = floor((in - ke) / s) + 1, no padding;
///   same:   out = ceil(in / s), total = max((out - 1) * s + ke - in, 0), floor(total / 2) before, the rest after;
///   causal: out = ceil(in / s), ke - 1 before.
struct WindowAxis {
  std::int64_t out = 0, pad_before = 0, pad_after = 0;
};
WindowAxis window_axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       Padding padding);

struct Window {
  WindowAxis h, w;
};
/// `in` is [H, W, C]. Throws LayerError if no window fits.
Window window(const Shape& in, Size2 kernel, Size2 strides, Size2 dilation, Padding padding);

/// The number of windows along each axis of `in`, then `channels`. Throws LayerError if no window fits.
Shape window_shape(const Shape& in, const Axes& kernel, const Axes& strides, const Axes& dilation, Padding padding,
                   std::int64_t channels);
/// Throws LayerError if both exceed 1, as in Keras.
void refuse_strided_dilation(const Axes& strides, const Axes& dilation);
/// Throws LayerError unless the axis is -1 or the number of the last one. The batch is axis 0, as in Keras.
void require_last_axis(std::int64_t axis, const Shape& in);
Shape joined(Axes leading, const Axes& trailing);

/// The layer over images that computes a convolution over steps, with its window and use_bias only. The caller sets the
/// other members that the op reads.
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
struct EnumNames<nn::Padding> {
  static constexpr std::array names{std::pair{nn::Padding::kValid, "valid"}, std::pair{nn::Padding::kSame, "same"}};
};

DPTRAIN_CONFIG_VALUE(nn::Extent);
DPTRAIN_CONFIG_VALUE(nn::Size3);
DPTRAIN_CONFIG_VALUE(nn::Margins1D);
DPTRAIN_CONFIG_VALUE(nn::Margins2D);
DPTRAIN_CONFIG_VALUE(nn::Margins3D);

}  // namespace dptrain::config
