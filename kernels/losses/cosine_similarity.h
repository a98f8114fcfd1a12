#pragma once

#include "kernels/losses/sums_loss.h"

namespace dptrain::kernels::losses {

/// -sum y p / (|y| |p|). Keras takes the smaller of 1 / |x| and 1 / 1e-7.
struct Cosine {
  DPTRAIN_HOST_DEVICE void add(double p, double y, Sums& sums) const {
    sums.products += p * y;
    sums.predictions += p * p;
    sums.targets += y * y;
  }
  DPTRAIN_HOST_DEVICE SumsLoss of(const Sums& sums) const {
    const bool clips = sums.predictions < kLowest * kLowest;
    const double of_p = clips ? 1.0 / kLowest : 1.0 / sqrt(sums.predictions);
    const double of_y = sums.targets < kLowest * kLowest ? 1.0 / kLowest : 1.0 / sqrt(sums.targets);
    const double value = -sums.products * of_p * of_y;
    return {value, -of_p * of_y, clips ? 0.0 : -value * of_p * of_p, 0.0};
  }
};

}  // namespace dptrain::kernels::losses
