#pragma once

namespace dptrain::nn {

/// Mean value of each feature over the steps, those that a mask leaves out apart: [steps, features] to [features], or
/// [1, features] with keepdims (Keras GlobalAveragePooling1D). Of a sample without a valid step: NaN, as in Keras.
struct GlobalAveragePooling1DSpec {
  bool keepdims = false;
};

}  // namespace dptrain::nn
