#pragma once

#include "core/shape.h"
#include "data/source.h"

namespace dptrain::data {

/// The rectangle that RandomErasing and CutMix cut, with Keras's arithmetic: parts of the width and height, at a place
/// drawn in what they leave (random_erasing.py and cut_mix.py, _compute_crop_bounds).
struct BoxDraw {
  float width = 0, height = 0;  ///< parts of the image's
  float x = 0, y = 0;           ///< where in the room left, 0..1
};
/// The pixels whose whole numbers lie in it.
Window box_of(const BoxDraw& draw, const Shape& image);

}  // namespace dptrain::data
