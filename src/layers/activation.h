#pragma once

// Activations by their Keras names (formulas: docs/numerics.md, Keras's activations). The enumerators are in the order
// of kernels::Activation only by accident: devices map them by name.

#include <array>
#include <utility>

#include "config/value.h"

namespace dptrain::layers {

enum class Activation {
  kLinear,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kElu,
  kSelu,
  kGelu,
  kSwish,
  kTanh,
  kSigmoid,
  kSoftmax,
  kSoftplus
};

/// Whether the gradient can be computed from the output alone, so that the pre-activation need not be kept (and the
/// activation can be fused into the operation that produces it).
bool backward_from_output(Activation activation);

}  // namespace dptrain::layers

template <>
struct dptrain::config::EnumNames<dptrain::layers::Activation> {
  using A = dptrain::layers::Activation;
  static constexpr std::array names{std::pair{A::kLinear, "linear"},   std::pair{A::kRelu, "relu"},
                                    std::pair{A::kRelu6, "relu6"},     std::pair{A::kLeakyRelu, "leaky_relu"},
                                    std::pair{A::kElu, "elu"},         std::pair{A::kSelu, "selu"},
                                    std::pair{A::kGelu, "gelu"},       std::pair{A::kSwish, "swish"},
                                    std::pair{A::kTanh, "tanh"},       std::pair{A::kSigmoid, "sigmoid"},
                                    std::pair{A::kSoftmax, "softmax"}, std::pair{A::kSoftplus, "softplus"},
                                    std::pair{A::kSwish, "silu"}};
};
