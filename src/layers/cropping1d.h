#pragma once

#include "layers/sides.h"

namespace dptrain::layers {

/// [steps, C] without steps at its ends (Keras Cropping1D).
struct Cropping1DSpec {
  Ends cropping{1, 1};
};

}  // namespace dptrain::layers
