#pragma once

#include "layers/activation.h"

namespace dptrain::layers {

/// A function of each element, or softmax over the last axis (Keras Activation).
struct ActivationSpec {
  Activation activation = Activation::kLinear;
};

}  // namespace dptrain::layers
