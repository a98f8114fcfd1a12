#pragma once

// The momenta of Nadam (Dozat 2016, with Keras's numbers) as a function of the update's number alone, the same on host
// and in CUDA kernels up to the last places of pow: nothing is kept from step to step, so a resumed run has the bits of
// one that was not stopped.

#include <math.h>

#include <cstdint>

#include "kernels/philox.h"

namespace dptrain::kernels {

/// What multiplies in update t = 1, 2, ...: the average gradient, the gradient, and the average square.
struct NadamFactors {
  double average, gradient, square;
};

/// u_i = beta_1 (1 - 0.96^i / 2), U = u_1 u_2 ... u_t (Keras's u_product):
/// u_{t+1} / (1 - U u_{t+1}), (1 - u_t) / (1 - U), 1 / (1 - beta_2^t).
DPTRAIN_HOST_DEVICE inline NadamFactors nadam_factors(double beta_1, double beta_2, int64_t t) {
  constexpr double kDecay = 0.96;
  constexpr int64_t kLast = 1000;  // 0.96^1000 / 2 < 2^-53: 1 minus it is 1, and the product stays
  double rest = 1, power = 1;
  for (int64_t i = 1; i <= t && i <= kLast; ++i) {
    power *= kDecay;
    rest *= 1 - 0.5 * power;
  }
  if (t > kLast) power = 0;
  const double count = static_cast<double>(t), product = pow(beta_1, count) * rest;
  const double now = beta_1 * (1 - 0.5 * power), next = beta_1 * (1 - 0.5 * power * kDecay);
  return {next / (1 - product * next), (1 - now) / (1 - product), 1 / (1 - pow(beta_2, count))};
}

}  // namespace dptrain::kernels
