#pragma once

// An activation of the house in the words of the kernels. Pure function, any thread.

#include "kernels/activation_kind.h"
#include "layers/activation.h"

namespace dptrain::device {

struct ActivationFunction {
  kernels::Activation kernel = kernels::Activation::linear;
  float alpha = 0;
};

/// Keras's functions of these names have fixed parameters: leaky_relu 0.2, elu 1. Softmax is none of single elements:
/// linear.
ActivationFunction activation_function(layers::Activation f);

}  // namespace dptrain::device
