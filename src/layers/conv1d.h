#pragma once

#include <array>
#include <utility>

#include "layers/activation.h"
#include "layers/initializer.h"
#include "layers/regularizer.h"
#include "layers/steps.h"

namespace dptrain::layers {

/// Causal: output t sees inputs up to t * strides alone, with zeros before the first.
enum class StepsPadding { kValid, kSame, kCausal };

/// Cross-correlation of [steps, C] with kernel [k, C / groups, filters], plus bias, then activation (Keras Conv1D).
struct Conv1DSpec {
  std::int64_t filters = 0;
  Extent kernel_size{1};
  Extent strides{1};
  StepsPadding padding = StepsPadding::kValid;
  Extent dilation_rate{1};
  std::int64_t groups = 1;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

}  // namespace dptrain::layers

template <>
struct dptrain::config::EnumNames<dptrain::layers::StepsPadding> {
  static constexpr std::array names{std::pair{dptrain::layers::StepsPadding::kValid, "valid"},
                                    std::pair{dptrain::layers::StepsPadding::kSame, "same"},
                                    std::pair{dptrain::layers::StepsPadding::kCausal, "causal"}};
};
