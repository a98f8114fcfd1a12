#pragma once

// Activations of single elements in double, from their definitions, as the reference for kernels and devices. `alpha`
// is the slope of leaky_relu and the scale of elu.

#include <algorithm>
#include <cmath>

#include "kernels/activation_kind.h"

namespace dptrain::test {

using kernels::Activation;

inline constexpr double kSeluScale = 1.0507009873554805, kSeluAlpha = 1.6732632423543772;

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
inline double relu6(double x) { return std::min(std::max(x, 0.0), 6.0); }

inline double activation_value(Activation kind, double alpha, double x) {
  switch (kind) {
    case Activation::kRelu: return std::max(x, 0.0);
    case Activation::kRelu6: return relu6(x);
    case Activation::kLeakyRelu: return x > 0 ? x : alpha * x;
    case Activation::kElu: return x > 0 ? x : alpha * std::expm1(x);
    case Activation::kSelu: return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x));
    case Activation::kGelu: return x * normal_cdf(x);
    case Activation::kSwish: return x * sigmoid(x);
    case Activation::kTanh: return std::tanh(x);
    case Activation::kSigmoid: return sigmoid(x);
    case Activation::kSoftplus: return softplus(x);
    case Activation::kHardSigmoid: return relu6(x + 3) / 6;
    case Activation::kHardSilu: return x * relu6(x + 3) / 6;
    case Activation::kMish: return x * std::tanh(softplus(x));
    case Activation::kExponential: return std::exp(x);
    case Activation::kSoftsign: return x / (1 + std::abs(x));
    case Activation::kLinear:
    case Activation::kSoftmax:
    case Activation::kLogSoftmax: break;  // nothing to compute, or defined on rows
  }
  return x;
}

/// The derivative. At a kink, relu and leaky_relu use the left side; relu6, also inside other activations, uses 0.
inline double activation_slope(Activation kind, double alpha, double x) {
  switch (kind) {
    case Activation::kRelu: return x > 0 ? 1.0 : 0.0;
    case Activation::kRelu6: return x > 0 && x < 6 ? 1.0 : 0.0;
    case Activation::kLeakyRelu: return x > 0 ? 1.0 : alpha;
    case Activation::kElu: return x > 0 ? 1.0 : alpha * std::exp(x);
    case Activation::kSelu: return kSeluScale * (x > 0 ? 1.0 : kSeluAlpha * std::exp(x));
    case Activation::kGelu: return normal_cdf(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI);
    case Activation::kSwish: return sigmoid(x) + x * sigmoid(x) * (1.0 - sigmoid(x));
    case Activation::kTanh: return 1.0 - std::tanh(x) * std::tanh(x);
    case Activation::kSigmoid: return sigmoid(x) * (1.0 - sigmoid(x));
    case Activation::kSoftplus: return sigmoid(x);
    case Activation::kHardSigmoid: return std::abs(x) < 3 ? 1.0 / 6 : 0.0;
    case Activation::kHardSilu: return relu6(x + 3) / 6 + (std::abs(x) < 3 ? x / 6 : 0.0);
    case Activation::kMish: {
      const double t = std::tanh(softplus(x));
      return t + x * sigmoid(x) * (1.0 - t * t);
    }
    case Activation::kExponential: return std::exp(x);
    case Activation::kSoftsign: return 1.0 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case Activation::kLinear:
    case Activation::kSoftmax:
    case Activation::kLogSoftmax: break;
  }
  return 1.0;
}

/// The derivative as a function of the output y, which may have been rounded.
inline double activation_slope_at_output(Activation kind, double alpha, double y) {
  switch (kind) {
    case Activation::kElu: return y > 0 ? 1.0 : y + alpha;
    case Activation::kSelu: return y > 0 ? kSeluScale : y + kSeluScale * kSeluAlpha;
    case Activation::kTanh: return 1 - y * y;
    case Activation::kSigmoid: return y * (1 - y);
    case Activation::kSoftplus: return -std::expm1(-y);
    case Activation::kHardSigmoid: return y > 0 && y < 1 ? 1.0 / 6 : 0.0;
    case Activation::kExponential: return y;
    case Activation::kSoftsign: return (1 - std::abs(y)) * (1 - std::abs(y));
    default: return activation_slope(kind, alpha, y);  // kinks at 0 and 6, which the output preserves
  }
}

}  // namespace dptrain::test
