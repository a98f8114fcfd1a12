#pragma once

// Pixel operations that several transforms share.

#include <cstdint>
#include <vector>

#include "data/images/pixel_finish.h"
#include "kernels/pixel_program.h"

namespace dptrain::data {

/// Throws Error{kUsage} unless the image has the axes [H, W, C]. Accepts an unknown shape, of rank 0.
void check_image(const Shape& shape);
/// As check_image(), and requires three channels.
void check_rgb(const Shape& shape);
/// 0.2989 R + 0.5870 G + 0.1140 B: rgb_to_grayscale of TensorFlow and Keras.
inline float luminance(const float* rgb) { return 0.2989F * rgb[0] + 0.5870F * rgb[1] + 0.1140F * rgb[2]; }
/// Clips the values to `range`, in place.
void clip(std::vector<float>& values, const std::vector<double>& range);
/// Copies the image to `out`, as bytes or floats.
void copy_image(const ImageView& image, Array& out);
/// Copies frame `which` of `count` to the clip `out`. Frame 0 sets its shape and type, which all frames share.
void set_frame(const Array& frame, std::int64_t which, std::int64_t count, Array& out);
/// Copies the image to `out` as floats.
void copy_floats(const ImageView& image, Array& out);
/// Copies the window to `out`, with `fill` outside the image.
void crop(const ImageView& image, const Window& window, float fill, Array& out);
/// As above, with zeros outside and with `finish` applied. Writes height * width * channels floats.
void crop(const ImageView& image, const Window& window, const Finish& finish, float* out);

/// Sets the operation of a device's pixel program (kernels/pixel_program.h). Returns false if the map has too many
/// channels or reverses them.
bool write_affine(const ChannelMap& map, kernels::PixelOp& op);
void write_crop(std::int64_t height, std::int64_t width, std::int64_t padding, bool random, kernels::PixelOp& op);
/// Sets the range of the drawn factor, and the range to which the result is clipped.
void write_range(double low, double high, const std::vector<double>& value_range, kernels::PixelOp& op);

}  // namespace dptrain::data
