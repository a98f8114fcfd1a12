#pragma once

// What transforms do to pixels in more than one of them.

#include <cstdint>
#include <vector>

#include "data/images/finish.h"
#include "kernels/pixel_program.h"

namespace dptrain::data {

/// Throws Error{kUsage} unless the image has the axes [H, W, C].
void check_image(const Shape& shape);
/// The same for one of three channels.
void check_rgb(const Shape& shape);
/// 0.2989 R + 0.5870 G + 0.1140 B: rgb_to_grayscale of TensorFlow and Keras.
inline float luminance(const float* rgb) { return 0.2989F * rgb[0] + 0.5870F * rgb[1] + 0.1140F * rgb[2]; }
/// The values clipped to `range`.
void clip(std::vector<float>& values, const std::vector<double>& range);
/// `out` becomes the image as it is.
void copy_image(const ImageView& image, Array& out);
/// One of `count` frames of a clip, of the shape and type of the others: the first one gives `out` its room.
void set_frame(const Array& frame, std::int64_t which, std::int64_t count, Array& out);
/// `out` becomes the floats of the image.
void copy_floats(const ImageView& image, Array& out);
/// `out` becomes the window; zeros where it lies outside the image.
void crop(const ImageView& image, const Window& window, Array& out);
/// The same, finished: height * width * channels floats.
void crop(const ImageView& image, const Window& window, const Finish& finish, float* out);

// What several transforms write into a device's program (kernels/pixel_program.h).

/// x scale[c] + offset[c]; false where the program has no room for so many channels, or the map turns their order.
bool write_affine(const ChannelMap& map, kernels::PixelOp& op);
void write_crop(std::int64_t height, std::int64_t width, std::int64_t padding, bool random, kernels::PixelOp& op);
/// The drawn factor's range, and the values that the result is clipped to.
void write_range(double low, double high, const std::vector<double>& value_range, kernels::PixelOp& op);

}  // namespace dptrain::data
