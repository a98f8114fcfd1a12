#pragma once

#include <cstdint>

namespace dptrain::data {

/// Colours as TensorFlow's rgb_to_hsv and hsv_to_rgb have them (tensorflow/core/kernels/image/colorspace_op.h): hue and
/// saturation in 0..1, the value as large as the largest channel.
struct Hsv {
  float hue = 0, saturation = 0, value = 0;
};
Hsv to_hsv(const float* rgb);
void to_rgb(const Hsv& hsv, float* rgb);

}  // namespace dptrain::data
