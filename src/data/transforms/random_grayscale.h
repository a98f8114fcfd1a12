#pragma once

#include "data/source.h"

namespace dptrain::data {

/// Gray with probability `factor`, in as many channels as before.
struct RandomGrayscaleSpec {
  double factor = 0.5;
};
/// Of an RGB image of floats, in place: 0.2989 R + 0.5870 G + 0.1140 B in each channel.
void make_gray(Array& image);

}  // namespace dptrain::data
