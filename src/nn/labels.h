#pragma once

// What the labels of an output are, after the loss and the output have been seen.

namespace dptrain::nn {

enum class LabelKind {
  kClass, /*an int32 for each position: for all axes of the output but the last*/
  kDense  /*a float row as wide as the output*/
};

}  // namespace dptrain::nn
