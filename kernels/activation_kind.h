#pragma once

// The table of activations. Plain data. To add one: a row here, its function in kernels/cpu/activation-inl.h and
// kernels/cuda/activation_kinds.h, a case in kernels/cuda/activation.cu, its reference in tests/support/activations.h,
// its equation in docs/reference/numerics.md, and Keras's values in tests/golden/activations.json.

#include <array>
#include <cstddef>

namespace dptrain::kernels {

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
  kSoftplus,
  kHardSigmoid,
  kHardSilu,
  kMish,
  kExponential,
  kSoftsign,
  kLogSoftmax,
};

enum class GradientFrom {
  kOutput,  ///< the input need not be saved, and the op that computes it may apply the activation
  kInput,   ///< one output belongs to several inputs with different slopes
};

struct ActivationTraits {
  Activation kind;
  const char* name;  ///< in configs and in all versions of Keras that have it
  GradientFrom gradient = GradientFrom::kOutput;
  float alpha = 0;         ///< slope of leaky_relu, scale of elu
  bool over_rows = false;  ///< acts on rows of the last axis instead of elements, with its own kernel
  const char* alias = nullptr;
  /// Description, for messages, of the function that Keras 2 computes under this name, if it differs.
  const char* keras2 = nullptr;
};

inline constexpr std::array kActivations{
    ActivationTraits{Activation::kLinear, "linear"},
    ActivationTraits{Activation::kRelu, "relu"},
    ActivationTraits{Activation::kRelu6, "relu6"},
    ActivationTraits{.kind = Activation::kLeakyRelu, .name = "leaky_relu", .alpha = 0.2F},
    ActivationTraits{.kind = Activation::kElu, .name = "elu", .alpha = 1.0F},
    ActivationTraits{Activation::kSelu, "selu"},
    ActivationTraits{Activation::kGelu, "gelu", GradientFrom::kInput},
    ActivationTraits{.kind = Activation::kSwish, .name = "swish", .gradient = GradientFrom::kInput, .alias = "silu"},
    ActivationTraits{Activation::kTanh, "tanh"},
    ActivationTraits{Activation::kSigmoid, "sigmoid"},
    ActivationTraits{.kind = Activation::kSoftmax, .name = "softmax", .over_rows = true},
    ActivationTraits{Activation::kSoftplus, "softplus"},
    ActivationTraits{.kind = Activation::kHardSigmoid,
                     .name = "hard_sigmoid",
                     .keras2 = "clip(0.2 x + 0.5, 0, 1), which here is Rescaling: {scale: 0.2, offset: 0.5} and ReLU: "
                               "{max_value: 1}"},
    ActivationTraits{
        .kind = Activation::kHardSilu, .name = "hard_silu", .gradient = GradientFrom::kInput, .alias = "hard_swish"},
    ActivationTraits{Activation::kMish, "mish", GradientFrom::kInput},
    ActivationTraits{Activation::kExponential, "exponential"},
    ActivationTraits{Activation::kSoftsign, "softsign"},
    ActivationTraits{.kind = Activation::kLogSoftmax, .name = "log_softmax", .over_rows = true},
};

constexpr const ActivationTraits& traits_of(Activation kind) { return kActivations[static_cast<std::size_t>(kind)]; }

static_assert([] {
  for (std::size_t i = 0; i < kActivations.size(); ++i)
    if (kActivations[i].kind != static_cast<Activation>(i)) return false;
  return true;
}());

/// Whether the gradient follows from the output alone. Requires alpha >= 0 for leaky_relu and alpha > 0 for elu.
constexpr bool has_gradient_from_output(Activation kind) { return traits_of(kind).gradient == GradientFrom::kOutput; }

/// Keras's ReLU layer: max_value where x >= max_value, x where x > threshold, negative_slope (x - threshold) otherwise.
/// max_value may be infinity.
struct ReluLayer {
  float max_value;
  float negative_slope;
  float threshold;
};

}  // namespace dptrain::kernels
