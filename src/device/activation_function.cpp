#include "device/activation_function.h"

namespace dptrain::device {

using Kernel = kernels::Activation;
using layers::Activation;

ActivationFunction activation_function(layers::Activation f) {
  switch (f) {
    case Activation::kRelu: return {Kernel::relu};
    case Activation::kRelu6: return {Kernel::relu6};
    case Activation::kLeakyRelu: return {Kernel::leaky_relu, 0.2F};
    case Activation::kElu: return {Kernel::elu, 1.0F};
    case Activation::kSelu: return {Kernel::selu};
    case Activation::kGelu: return {Kernel::gelu};
    case Activation::kSwish: return {Kernel::swish};
    case Activation::kTanh: return {Kernel::tanh};
    case Activation::kSigmoid: return {Kernel::sigmoid};
    case Activation::kSoftplus: return {Kernel::softplus};
    case Activation::kLinear:
    case Activation::kSoftmax: break;  // not of single elements, or nothing to do: handled by the callers
  }
  return {Kernel::linear};
}

}  // namespace dptrain::device
