#pragma once

// Resizes an image, or a window of it, as tf.image.resize of TensorFlow 2 with half-pixel centres. Bilinear with
// antialiasing is a triangle filter as wide as the step between output pixels. Any thread; each caches some tables.

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "config/typed.h"
#include "data/images/pixel_finish.h"
#include "kernels/cpu/resize.h"

namespace dptrain::data {

enum class ResizeFilter { kNearest, kBilinear, kTriangle /*bilinear with antialiasing*/ };

/// Input positions and weights for each position of a resized axis.
struct ResizeTable {
  std::int64_t size = 0, taps = 1;
  std::vector<std::int32_t> first;  ///< [size]
  std::vector<float> weights;       ///< [taps, size]; empty for kNearest

  kernels::cpu::ResizeAxis axis() const { return {size, taps, first.data(), weights.data()}; }
};

/// Resizes an axis from `in` to `out` positions. `mirror` reverses their order.
ResizeTable make_resize_table(std::int64_t in, std::int64_t out, ResizeFilter filter, bool mirror);

enum class Interpolation { kNearest, kBilinear };

struct Resize {
  std::int64_t height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = false;  ///< kBilinear only
};

Window whole(const Shape& image);
/// Intersection of the window and the image; may be empty.
Window inside(const Shape& image, const Window& window);
/// The largest centred window of aspect ratio height : width (Keras's crop_to_aspect_ratio).
Window centred(const Shape& image, std::int64_t height, std::int64_t width);

/// `out` holds height * width * channels floats.
void resize_image(const ImageView& image, const Window& window, const Resize& resize, const Finish& finish, float* out);
/// Writes u8 if the image is u8 and the interpolation kNearest, else f32.
void resize_image(const ImageView& image, const Window& window, const Resize& resize, Array& out);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::Interpolation> {
  static constexpr std::array names{std::pair{data::Interpolation::kNearest, "nearest"},
                                    std::pair{data::Interpolation::kBilinear, "bilinear"}};
};
}  // namespace dptrain::config
