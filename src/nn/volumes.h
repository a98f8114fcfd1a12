#pragma once

// What layers over volumes and clips, [depth, height, width, channels], have in common: extents of three axes in a
// config, windows over them, and how a window falls into one over frames and one along the depth. Pure functions, any
// thread.

#include <cstdint>
#include <optional>
#include <string>

#include "config/value.h"
#include "nn/geometry.h"
#include "nn/sides.h"

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
