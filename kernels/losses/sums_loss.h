#pragma once

// Losses that are made of three sums over elements: `void add(double prediction, double target, Sums&) const`, and from
// the sums `SumsLoss of(const Sums&) const`.

#include "kernels/losses/element_loss.h"

namespace dptrain::kernels::losses {

struct Sums {
  double products = 0.0, predictions = 0.0, targets = 0.0;
};

/// The value, and its derivative by a prediction p with the target y: of_target y + of_prediction p + constant.
struct SumsLoss {
  double value, of_target, of_prediction, constant;
  DPTRAIN_HOST_DEVICE double slope(double p, double y) const { return of_target * y + of_prediction * p + constant; }
};

}  // namespace dptrain::kernels::losses
