#pragma once

// The equations of losses, the same on host and in CUDA kernels, in double: their rows are few or short, and a clip at
// 1 - 1e-7 asks for more digits than a float has. A file of this folder is one loss's: a struct that a pass over rows
// (kernels/cpu/loss_passes.h, kernels/cuda/loss_passes.h) is instantiated with. Header-only, plain functions.
//
// An element's loss is `ElementLoss operator()(double prediction, double target) const`. A row's loss is the mean over
// its elements, or their sum where the struct has `kSumsElements`.

#include <math.h>

#include "kernels/philox.h"  // DPTRAIN_HOST_DEVICE

namespace dptrain::kernels::losses {

/// Value of one element and its derivative by the prediction.
struct ElementLoss {
  double value, slope;
};

template <class F>
inline constexpr bool kSumsElements = requires {
  F::kSumsElements;
};

/// Keras's clip of probabilities: epsilon(), a float there, to 1 - epsilon().
inline constexpr double kLowest = 1e-7F, kHighest = 1.0 - kLowest;

/// NaN passes.
DPTRAIN_HOST_DEVICE inline double clipped(double p, double low = kLowest, double high = kHighest) {
  return p < low ? low : p > high ? high : p;
}
DPTRAIN_HOST_DEVICE inline bool inside_clip(double p, double low = kLowest, double high = kHighest) {
  return p >= low && p <= high;
}

/// x^gamma and its derivative by x, for x >= 0.
DPTRAIN_HOST_DEVICE inline ElementLoss power(double x, double gamma) {
  if (gamma == 0.0) return {1.0, 0.0};
  if (gamma == 2.0) return {x * x, 2.0 * x};
  return {pow(x, gamma), gamma * pow(x, gamma - 1.0)};
}

/// The label of two classes, smoothed: y (1 - s) + s / 2.
struct BinarySmoothing {
  double amount;
  DPTRAIN_HOST_DEVICE double operator()(double y) const { return y * (1.0 - amount) + 0.5 * amount; }
};

}  // namespace dptrain::kernels::losses
