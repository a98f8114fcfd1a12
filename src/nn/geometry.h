#pragma once

// Arithmetic of windows shared by convolutions and poolings (Keras's rules, TensorFlow "SAME"/"VALID").

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
