#pragma once

// Finish: the last steps of a pipeline, mirroring and a linear map of each channel, which the code that writes the
// pixels applies in the same pass. Plain values; any thread.

#include <array>
#include <cstdint>
#include <vector>

#include "data/source.h"
#include "kernels/cpu/pixels.h"

namespace dptrain::data {

ImageView view_of(const Array& array);
/// Whether the shape is that of a clip, [frames, H, W, C].
inline bool is_clip(const Shape& shape) { return shape.rank() == 4; }
Shape frame_shape(const Shape& clip);
ImageView frame_of(const ImageView& clip, std::int64_t frame);

/// y[c] = x[reverse ? channels - 1 - c : c] * scale[c] + offset[c].
struct ChannelMap {
  std::vector<float> scale{1.0F}, offset{0.0F};  ///< one value for all channels, or one per channel
  bool reverse = false;

  /// Throws Error{kUsage} unless the map fits the channels of `shape`.
  void check(const Shape& shape) const;
};
/// The composition: `second` after `first`.
ChannelMap operator*(const ChannelMap& second, const ChannelMap& first);

struct Mirror {
  bool x = false, y = false;  ///< left to right, top to bottom
};

struct Finish {
  ChannelMap map;
  Mirror mirror;
};

/// A ChannelMap expanded to one scale and offset per channel, for kernels.
class KernelMap {
 public:
  KernelMap(const ChannelMap& map, std::int64_t channels);
  KernelMap(const KernelMap&) = delete;
  KernelMap& operator=(const KernelMap&) = delete;

  const kernels::cpu::PixelMap& get() const { return map_; }

 private:
  std::array<float, 8> few_{};  // for up to four channels; avoids an allocation
  std::vector<float> many_;
  kernels::cpu::PixelMap map_;
};

/// A view of [H, W, C] for kernels. Other ranks are one row of pixels with as many channels as the map has.
template <class T>
kernels::cpu::Pixels<T> pixels(const ImageView& image, const ChannelMap& map) {
  const auto* const data = static_cast<const T*>(image.data);
  if (image.shape.rank() == 3) {
    const std::int64_t width = image.shape[1], channels = image.shape[2];
    return {data, image.shape[0], width, channels, width * channels};
  }
  const auto channels =
      static_cast<std::int64_t>(map.scale.size() > map.offset.size() ? map.scale.size() : map.offset.size());
  const std::int64_t elements = image.shape.elements();
  return {data, 1, elements / channels, channels, elements};
}

/// Calls f(Pixels<T>) with the image's element type T.
template <class F>
void with_pixels(const ImageView& image, const ChannelMap& map, const F& f) {
  if (image.type == DType::kU8) {
    f(pixels<std::uint8_t>(image, map));
  } else {
    f(pixels<float>(image, map));
  }
}

/// Maps and mirrors a whole image.
void finish_image(const ImageView& image, const Finish& finish, float* out);
/// Maps an image to `out`, f32.
void map_image(const ImageView& image, const ChannelMap& map, Array& out);

}  // namespace dptrain::data
