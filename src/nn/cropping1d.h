#pragma once

#include "nn/sides.h"

namespace dptrain::nn {

/// [steps, C] without steps at its ends (Keras Cropping1D).
struct Cropping1DSpec {
  Ends cropping{1, 1};
};

}  // namespace dptrain::nn
