#pragma once

// What one draw of a dropout stands for in the words of the kernels, the same on every device.

#include <optional>

#include "kernels/geometry.h"
#include "nn/dropout.h"

namespace dptrain::backend {

/// Of a Dropout's noise_shape. Nothing where every element draws. Neighbouring axes of one kind are one.
inline std::optional<kernels::SpreadAxes> spread_axes(const nn::DropoutSpec& spec, const Shape& in) {
  const std::optional<nn::SampleNoise> noise = nn::sample_noise(spec, in);
  if (!noise) return std::nullopt;
  kernels::SpreadAxes all{.axes = 1, .extent = {1}, .numbers = noise->shape.elements(), .one_row = noise->one_row};
  std::int64_t stride = all.numbers;
  bool drawn = false;  // along the last axis of `all`
  for (int axis = 0; axis < in.rank(); ++axis) {
    const bool draws = noise->shape[axis] == in[axis];
    stride /= noise->shape[axis];
    if (axis > 0 && draws != drawn) all.extent[all.axes++] = 1;
    all.extent[all.axes - 1] *= in[axis];
    all.stride[all.axes - 1] = draws ? stride : 0;
    drawn = draws;
  }
  return all;
}

/// One number for a whole sample.
inline kernels::SpreadAxes one_number(const Shape& in) { return {.axes = 1, .extent = {in.elements()}}; }

}  // namespace dptrain::backend
