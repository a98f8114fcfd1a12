#pragma once

#include "kernels/losses/sums_loss.h"

namespace dptrain::kernels::losses {

/// 1 - 2 sum y p / (sum y + sum p + 1e-7).
struct Dice {
  DPTRAIN_HOST_DEVICE void add(double p, double y, Sums& sums) const {
    sums.products += p * y;
    sums.predictions += p;
    sums.targets += y;
  }
  DPTRAIN_HOST_DEVICE SumsLoss of(const Sums& sums) const {
    const double whole = sums.targets + sums.predictions + kLowest, share = 2.0 * sums.products / whole;
    return {1.0 - share, -2.0 / whole, 0.0, share / whole};
  }
};

}  // namespace dptrain::kernels::losses
