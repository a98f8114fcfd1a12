#pragma once

#include <array>
#include <utility>

#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"
#include "nn/steps.h"

namespace dptrain::nn {

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

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::StepsPadding> {
  static constexpr std::array names{std::pair{dptrain::nn::StepsPadding::kValid, "valid"},
                                    std::pair{dptrain::nn::StepsPadding::kSame, "same"},
                                    std::pair{dptrain::nn::StepsPadding::kCausal, "causal"}};
};
