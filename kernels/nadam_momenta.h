#pragma once

// Nadam's momenta (Dozat 2016, with Keras's constants) as a function of the update number. No state is stored, so a
// resumed run gives the same bits. Host and CUDA kernels agree up to the last digits of pow.

#include <math.h>

#include <cstdint>

#include "kernels/philox.h"

namespace dptrain::kernels {

/// Factors of the average gradient, the gradient and the average square in update t = 1, 2, ...
struct NadamFactors {
  double average, gradient, square;
};

/// With u_i = beta_1 (1 - 0.96^i / 2) and U = u_1 u_2 ... u_t (Keras's u_product):
/// u_{t+1} / (1 - U u_{t+1}), (1 - u_t) / (1 - U), 1 / (1 - beta_2^t).
DPTRAIN_HOST_DEVICE inline NadamFactors nadam_factors(double beta_1, double beta_2, int64_t t) {
  constexpr double kDecay = 0.96;
  constexpr int64_t kLast = 1000;  // from here 0.96^i / 2 < 2^-53, so the factor is 1
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
