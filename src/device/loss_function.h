#pragma once

// What a plan's loss is in the words of the kernels: the same for every device. Pure functions, any
// thread.

#include "device/op.h"

namespace dptrain::device {

enum class LossKind { kCategorical, kBinary, kSquared, kAbsolute };

struct LossFunction {
  LossKind kind = LossKind::kCategorical;
  float label_smoothing = 0;
};

/// Sparse and dense categorical losses are one: what the labels are is said by the plan. Throws Error{kInternal} for a
/// loss that no device has.
LossFunction loss_function(const config::Typed& loss);

}  // namespace dptrain::device
