#pragma once

// Activations by their Keras names, from the table in kernels/activation_kind.h, and the layers that apply them.

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "config/typed.h"
#include "core/shape.h"
#include "kernels/activation_kind.h"
#include "nn/initializer.h"

namespace dptrain::nn {

using kernels::Activation;

/// Whether the gradient can be computed from the output alone, so that the pre-activation need not be saved.
constexpr bool backward_from_output(Activation f) { return kernels::has_gradient_from_output(f); }

/// Whether an op may apply it to its own output in place. Softmax and log_softmax remain separate steps, so that the
/// loss can be fused with softmax; so do functions that need the pre-activation.
constexpr bool can_be_epilogue(Activation f) { return backward_from_output(f) && !kernels::traits_of(f).over_rows; }

constexpr const char* name_of(Activation f) { return kernels::traits_of(f).name; }

/// A function of each element, or softmax over the last axis (Keras Activation).
struct ActivationSpec {
  Activation activation = Activation::kLinear;
};

/// x if x > 0 else alpha * (e^x - 1) (Keras ELU).
struct ELUSpec {
  float alpha = 1.0F;
};

/// x if x > 0 else negative_slope * x (Keras LeakyReLU; `alpha` is an alias).
struct LeakyReLUSpec {
  float negative_slope = 0.3F;
};

/// x if x > 0 else alpha * x, with a learned alpha per element of a sample, or one for all elements along the shared
/// axes (Keras PReLU).
struct PReLUSpec {
  Initializer alpha_initializer{Zeros{}};
  Regularizer alpha_regularizer;
  Shape shared_axes;  ///< counted from 1, the batch being axis 0: [1, 2] shares over height and width
};

/// max_value if x >= max_value; x if threshold < x; negative_slope * (x - threshold) otherwise (Keras ReLU).
struct ReLUSpec {
  std::optional<float> max_value;
  float negative_slope = 0;
  float threshold = 0;
};

/// exp(x - max) / sum over an axis; only the last axis (-1) is supported (Keras Softmax).
struct SoftmaxSpec {
  int axis = -1;
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::Activation> {
  using Names = std::pair<dptrain::nn::Activation, const char*>;
  static constexpr std::size_t kAliases = [] {
    std::size_t count = 0;
    for (const auto& row : kernels::kActivations) count += row.alias != nullptr ? 1 : 0;
    return count;
  }();
  /// Names first, since they are the ones written; then the aliases.
  static constexpr auto names = [] {
    std::array<Names, kernels::kActivations.size() + kAliases> all{};
    std::size_t at = 0;
    for (const auto& row : kernels::kActivations) all[at++] = {row.kind, row.name};
    for (const auto& row : kernels::kActivations)
      if (row.alias != nullptr) all[at++] = {row.kind, row.alias};
    return all;
  }();
};
