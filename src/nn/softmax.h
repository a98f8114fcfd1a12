#pragma once

namespace dptrain::nn {

/// exp(x - max) / sum over an axis; only the last axis (-1) is supported (Keras Softmax).
struct SoftmaxSpec {
  int axis = -1;
};

}  // namespace dptrain::nn
