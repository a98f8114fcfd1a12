#pragma once

#include "nn/activation.h"

namespace dptrain::nn {

/// A function of each element, or softmax over the last axis (Keras Activation).
struct ActivationSpec {
  Activation activation = Activation::kLinear;
};

}  // namespace dptrain::nn
