#pragma once

namespace dptrain::nn {

/// Largest value of each channel over the steps: [steps, C] to [C], or [1, C] with keepdims (Keras GlobalMaxPooling1D).
struct GlobalMaxPooling1DSpec {
  bool keepdims = false;
};

}  // namespace dptrain::nn
