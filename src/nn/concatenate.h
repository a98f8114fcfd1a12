#pragma once

namespace dptrain::nn {

/// Inputs side by side along an axis (Keras Concatenate; the batch is axis 0, so -1 or 1 and up).
struct ConcatenateSpec {
  int axis = -1;
};

}  // namespace dptrain::nn
