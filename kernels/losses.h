#pragma once

// Equations of losses for host and GPU kernels. They compute in double: rows are few or short, and a clip at 1 - 1e-7
// needs more digits than float has. Header-only, pure functions.
//
// An element loss is a struct with `ElementLoss operator()(double prediction, double target) const`. If its members are
// its keys, it is also the loss's spec (nn/losses.cpp). A row's loss is the mean over its elements, or their sum if the
// struct has `kSumsElements`. To add one: the equation here, a line in DPTRAIN_ELEMENT_LOSSES, names in nn/losses.cpp.
//
// A loss of sums has `void add(double prediction, double target, Sums&) const` and `SumsLoss loss(const Sums&) const`.
// Its spec adds the axes of the sums (nn::OverAxes). To add one: the equation here, a line in DPTRAIN_SUMS_LOSSES,
// names in nn/losses.cpp.

#include <math.h>

#include "kernels/philox.h"  // DPTRAIN_HOST_DEVICE

/// Element losses that are their own specs. Ops and instances of GPU kernels expand this list.
#define DPTRAIN_ELEMENT_LOSSES(USE) \
  USE(MeanSquaredError)             \
  USE(MeanAbsoluteError)            \
  USE(MeanAbsolutePercentageError)  \
  USE(MeanSquaredLogarithmicError)  \
  USE(Huber)                        \
  USE(LogCosh)                      \
  USE(Poisson)                      \
  USE(KLDivergence)                 \
  USE(Hinge)                        \
  USE(SquaredHinge)

/// Losses of sums over axes that the user chooses.
#define DPTRAIN_SUMS_LOSSES(USE) USE(Dice) USE(Tversky)

namespace dptrain::kernels::losses {

/// A value and its derivative with respect to the prediction.
struct ElementLoss {
  double value, slope;
};

template <class F>
inline constexpr bool kSumsElements = requires {
  F::kSumsElements;
};

/// Keras's clip of probabilities: epsilon(), which is a float, to 1 - epsilon().
inline constexpr double kLowest = 1e-7F, kHighest = 1.0 - kLowest;

/// NaN propagates.
DPTRAIN_HOST_DEVICE inline double clipped(double p, double low = kLowest, double high = kHighest) {
  return p < low ? low : p > high ? high : p;
}
DPTRAIN_HOST_DEVICE inline bool inside_clip(double p, double low = kLowest, double high = kHighest) {
  return p >= low && p <= high;
}

/// (p - y)^2.
struct MeanSquaredError {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const { return {(p - y) * (p - y), 2.0 * (p - y)}; }
};

/// |p - y|; the slope at p == y is zero.
struct MeanAbsoluteError {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    return {fabs(p - y), p > y ? 1.0 : p < y ? -1.0 : 0.0};
  }
};

/// 100 |p - y| / max(|y|, 1e-7).
struct MeanAbsolutePercentageError {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    const double share = 100.0 / (fabs(y) > kLowest ? fabs(y) : kLowest);
    return {share * fabs(p - y), p > y ? share : p < y ? -share : 0.0};
  }
};

/// (ln(1 + max(p, 1e-7)) - ln(1 + max(y, 1e-7)))^2; the slope is zero below the clip.
struct MeanSquaredLogarithmicError {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    const double at = p < kLowest ? kLowest : p;
    const double difference = log1p(at) - log1p(y < kLowest ? kLowest : y);
    return {difference * difference, p < kLowest ? 0.0 : 2.0 * difference / (1.0 + at)};
  }
};

/// e^2 / 2 where |e| = |p - y| <= delta, else delta |e| - delta^2 / 2.
struct Huber {
  double delta = 1;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    const double e = p - y, a = fabs(e);
    if (a <= delta) return {0.5 * e * e, e};
    return {delta * a - 0.5 * delta * delta, e < 0.0 ? -delta : delta};
  }
};

/// ln cosh x of x = p - y, as |x| + ln(1 + e^(-2 |x|)) - ln 2, which does not overflow for large x.
struct LogCosh {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    constexpr double kLn2 = 0.693147180559945309417;
    const double x = p - y, a = fabs(x);
    return {a + log1p(exp(-2.0 * a)) - kLn2, tanh(x)};
  }
};

/// p - y ln(p + 1e-7).
struct Poisson {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    return {p - y * ::log(p + kLowest), 1.0 - y / (p + kLowest)};
  }
};

/// y ln(y / p), both clipped to 1e-7..1; summed over the row.
struct KLDivergence {
  static constexpr bool kSumsElements = true;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const double y = clipped(target, kLowest, 1.0), q = clipped(p, kLowest, 1.0);
    return {y * ::log(y / q), inside_clip(p, kLowest, 1.0) ? -y / q : 0.0};
  }
};

// Margins. Labels are -1 and 1; a label of 0 counts as -1, which gives Keras's result for labels of either kind.

/// The margin 1 - y p. Its slope with respect to the prediction is -y, and zero where the margin is negative.
struct Margin {
  double y, margin;
  DPTRAIN_HOST_DEVICE Margin(double p, double target) : y(target == 0.0 ? -1.0 : target), margin(1.0 - y * p) {}
  DPTRAIN_HOST_DEVICE bool is_kept() const { return !(margin < 0.0); }
};

/// max(0, 1 - y p).
struct Hinge {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const Margin m(p, target);
    return m.is_kept() ? ElementLoss{m.margin, -m.y} : ElementLoss{0.0, 0.0};
  }
};

/// max(0, 1 - y p)^2.
struct SquaredHinge {
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const Margin m(p, target);
    return m.is_kept() ? ElementLoss{m.margin * m.margin, -2.0 * m.y * m.margin} : ElementLoss{0.0, 0.0};
  }
};

/// The label of two classes, smoothed: y' = y (1 - s) + s / 2.
struct BinarySmoothing {
  double amount;
  DPTRAIN_HOST_DEVICE double operator()(double y) const { return y * (1.0 - amount) + 0.5 * amount; }
};

/// -(y' ln q + (1 - y') ln(1 - q)), q = clip(p, 1e-7, 1 - 1e-7); the slope is zero where the clip is active.
struct BinaryCrossentropy {
  BinarySmoothing smoothed;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const double y = smoothed(target), q = clipped(p);
    const double value = -(y * ::log(q) + (1.0 - y) * log1p(-q));
    return {value, inside_clip(p) ? (q - y) / (q * (1.0 - q)) : 0.0};
  }
};

/// max(z, 0) - z y' + ln(1 + e^-|z|).
struct BinaryCrossentropyFromLogits {
  BinarySmoothing smoothed;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double z, double target) const {
    const double y = smoothed(target), e = exp(-fabs(z));
    const double sigmoid = z >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    return {(z > 0.0 ? z : 0.0) - z * y + log1p(e), sigmoid - y};
  }
};

/// x^gamma and its derivative, for x >= 0.
DPTRAIN_HOST_DEVICE inline ElementLoss power(double x, double gamma) {
  if (gamma == 0.0) return {1.0, 0.0};
  if (gamma == 2.0) return {x * x, 2.0 * x};
  return {pow(x, gamma), gamma * pow(x, gamma - 1.0)};
}

/// Focal factor w (1 - p_t)^gamma, 1 - p_t = y' (1 - p) + (1 - y') p; balanced: w = y' alpha + (1 - y') (1 - alpha).
struct FocalFactor {
  double gamma;
  bool balances;
  double alpha;
  BinarySmoothing smoothed;

  /// Multiplies a crossentropy. 1 - p is a parameter because it would lose digits near p = 1; `dp` is p's derivative.
  DPTRAIN_HOST_DEVICE ElementLoss multiply(ElementLoss entropy, double y, double p, double one_minus_p,
                                           double dp) const {
    const ElementLoss factor = power(y * one_minus_p + (1.0 - y) * p, gamma);
    const double weight = balances ? y * alpha + (1.0 - y) * (1.0 - alpha) : 1.0;
    return {weight * factor.value * entropy.value,
            weight * (factor.value * entropy.slope + entropy.value * factor.slope * (1.0 - 2.0 * y) * dp)};
  }
};

/// The loss of probabilities, which the crossentropy clips and the factor does not.
struct BinaryFocalCrossentropy {
  FocalFactor factor;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double target) const {
    const ElementLoss entropy = BinaryCrossentropy{factor.smoothed}(p, target);
    return factor.multiply(entropy, factor.smoothed(target), p, 1.0 - p, 1.0);
  }
};

struct BinaryFocalCrossentropyFromLogits {
  FocalFactor factor;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double z, double target) const {
    const double e = exp(-fabs(z)), small = e / (1.0 + e), large = 1.0 / (1.0 + e);
    const double p = z >= 0.0 ? large : small, rest = z >= 0.0 ? small : large;
    const ElementLoss entropy = BinaryCrossentropyFromLogits{factor.smoothed}(z, target);
    return factor.multiply(entropy, factor.smoothed(target), p, rest, p * rest);
  }
};

/// One class of alpha (1 - q)^gamma (-y ln q), q = clip(p, 1e-7, 1 - 1e-7), for normalized p and smoothed y.
struct CategoricalFocalCrossentropy {
  double alpha, gamma;
  DPTRAIN_HOST_DEVICE ElementLoss operator()(double p, double y) const {
    if (y == 0.0) return {0.0, 0.0};
    const double q = clipped(p), entropy = -y * ::log(q);
    const ElementLoss factor = power(1.0 - q, gamma);
    const double slope = -factor.value * y / q - factor.slope * entropy;
    return {alpha * factor.value * entropy, inside_clip(p) ? alpha * slope : 0.0};
  }
};

/// Losses of sums with `kSkipsNegative`: targets below 0 mark positions that the sums leave out; their slope is zero.
template <class F>
inline constexpr bool kSkipsNegative = requires {
  F::kSkipsNegative;
};
template <class F>
DPTRAIN_HOST_DEVICE bool is_counted(double target) {
  return !kSkipsNegative<F> || !(target < 0.0);
}

struct Sums {
  double products = 0.0, predictions = 0.0, targets = 0.0;
};

/// A value and its derivative by a prediction p with target y: of_target y + of_prediction p + constant.
struct SumsLoss {
  double value, of_target, of_prediction, constant;
  DPTRAIN_HOST_DEVICE double slope(double p, double y) const { return of_target * y + of_prediction * p + constant; }
};

/// -sum y p / (|y| |p|). Keras takes the smaller of 1 / |x| and 1 / 1e-7.
struct CosineSimilarity {
  DPTRAIN_HOST_DEVICE void add(double p, double y, Sums& sums) const {
    sums.products += p * y;
    sums.predictions += p * p;
    sums.targets += y * y;
  }
  DPTRAIN_HOST_DEVICE SumsLoss loss(const Sums& sums) const {
    const bool clips = sums.predictions < kLowest * kLowest;
    const double of_p = clips ? 1.0 / kLowest : 1.0 / sqrt(sums.predictions);
    const double of_y = sums.targets < kLowest * kLowest ? 1.0 / kLowest : 1.0 / sqrt(sums.targets);
    const double value = -sums.products * of_p * of_y;
    return {value, -of_p * of_y, clips ? 0.0 : -value * of_p * of_p, 0.0};
  }
};

/// 1 - 2 sum y p / (sum y + sum p + 1e-7).
struct Dice {
  static constexpr bool kSkipsNegative = true;
  DPTRAIN_HOST_DEVICE void add(double p, double y, Sums& sums) const {
    sums.products += p * y;
    sums.predictions += p;
    sums.targets += y;
  }
  DPTRAIN_HOST_DEVICE SumsLoss loss(const Sums& sums) const {
    const double whole = sums.targets + sums.predictions + kLowest, share = 2.0 * sums.products / whole;
    return {1.0 - share, -2.0 / whole, 0.0, share / whole};
  }
};

/// 1 - s / (s + alpha (sum y - s) + beta (sum p - s) + 1e-7) with s = sum y p.
struct Tversky {
  static constexpr bool kSkipsNegative = true;
  double alpha = 0.5, beta = 0.5;
  DPTRAIN_HOST_DEVICE void add(double p, double y, Sums& sums) const { Dice{}.add(p, y, sums); }
  DPTRAIN_HOST_DEVICE SumsLoss loss(const Sums& sums) const {
    const double missed = sums.targets - sums.products, wrong = sums.predictions - sums.products;
    const double whole = sums.products + alpha * missed + beta * wrong + kLowest, share = sums.products / whole;
    return {1.0 - share, (share * (1.0 - alpha - beta) - 1.0) / whole, 0.0, share * beta / whole};
  }
};

}  // namespace dptrain::kernels::losses
