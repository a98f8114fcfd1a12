#pragma once

// What layers over steps, [steps, channels], have in common: extents of one axis in a config, windows along it, and the
// layer over images of height 1 that computes the same. Pure functions, any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "config/value.h"
#include "nn/geometry.h"

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
