#pragma once

// Resizing an image, or a window of it, as tf.image.resize of TensorFlow 2 does: pixel centres at one half; nearest or
// bilinear; bilinear with antialiasing is a triangle as wide as the step between the result's pixels. Any thread; each
// keeps the tables of the sizes that it has met last.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "config/value.h"
#include "data/images/finish.h"
#include "kernels/cpu/resize.h"

namespace dptrain::data {

// Which input places each place of a resized axis reads, and with what weights. Pure.

enum class ResizeFilter { kNearest, kBilinear, kTriangle /*bilinear with antialiasing*/ };

struct ResizeTable {
  std::int64_t size = 0, taps = 1;
  std::vector<std::int32_t> first;  ///< [size]
  std::vector<float> weights;       ///< [taps, size]; empty for kNearest

  kernels::cpu::ResizeAxis axis() const { return {size, taps, first.data(), weights.data()}; }
};

/// From `in` places to `out`; `mirror` in reverse order.
ResizeTable make_resize_table(std::int64_t in, std::int64_t out, ResizeFilter filter, bool mirror);

enum class Interpolation { kNearest, kBilinear };

struct Resize {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = false;  ///< kBilinear
};

Window whole(const Shape& image);
/// What of the window lies in the image; empty where nothing does.
Window inside(const Shape& image, const Window& window);
/// The largest window in the middle with the sides' ratio of height : width (Keras's crop_to_aspect_ratio).
Window centred(const Shape& image, std::int64_t height, std::int64_t width);

/// `out` holds height * width * channels floats.
void resize_image(const ImageView& image, const Window& window, const Resize& resize, const Finish& finish, float* out);
/// f32, but u8 where bytes are only picked.
void resize_image(const ImageView& image, const Window& window, const Resize& resize, Array& out);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::Interpolation> {
  static constexpr std::array names{std::pair{data::Interpolation::kNearest, "nearest"},
                                    std::pair{data::Interpolation::kBilinear, "bilinear"}};
};
}  // namespace dptrain::config
