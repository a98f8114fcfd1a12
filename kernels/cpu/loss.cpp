#include "kernels/cpu/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/class_rows.h"

// Rows of these losses are short (a handful of outputs) or rare (probabilities instead of logits), so they are written
// plainly and summed in double; the hot loss is softmax_cross_entropy.

namespace dptrain::kernels::cpu {

namespace {

constexpr double kLowest = kProbabilityEpsilon;
constexpr double kHighest = 1.0 - kLowest;

/// Smoothed target of one class; NaN if the label is out of range.
double smoothed_target(const ClassTargets& targets, int64_t row, int64_t classes, int64_t c) {
  double y = 0.0;
  if (targets.dense != nullptr) {
    y = static_cast<double>(targets.dense[row * classes + c]);
  } else {
    const int64_t label = targets.labels[row];
    if (label < 0 || label >= classes) return std::numeric_limits<double>::quiet_NaN();
    y = label == c ? 1.0 : 0.0;
  }
  const double smoothing = static_cast<double>(targets.label_smoothing);
  return y * (1.0 - smoothing) + smoothing / static_cast<double>(classes);
}

bool inside_clip(double p) { return p >= kLowest && p <= kHighest; }

/// Value of one element and its derivative by the prediction.
struct ElementLoss {
  double value, slope;
};

/// loss[row] = mean of f(prediction, target); gradient = slope / width * scale.
template <class F>
void elementwise_loss(const float* predictions, const float* targets, int64_t rows, int64_t width, float* loss,
                      float* gradient, float gradient_scale, const F& f) {
  const double share = 1.0 / static_cast<double>(width);
  for_rows(rows, width, [&](int64_t row) {
    double sum = 0.0;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      const ElementLoss element = f(static_cast<double>(predictions[i]), static_cast<double>(targets[i]));
      sum += element.value;
      if (gradient != nullptr)
        gradient[i] = static_cast<float>(element.slope * share * static_cast<double>(gradient_scale));
    }
    if (loss != nullptr) loss[row] = static_cast<float>(sum * share);
  });
}

double smoothed_binary(double y, float label_smoothing) {
  const double smoothing = static_cast<double>(label_smoothing);
  return y * (1.0 - smoothing) + 0.5 * smoothing;
}

}  // namespace

void categorical_cross_entropy(const float* probabilities, int64_t rows, int64_t classes, const ClassTargets& targets,
                               const ClassLossOutputs& outputs) {
  for_rows(rows, classes, [&](int64_t row) {
    const float* p = probabilities + row * classes;
    if (outputs.hit != nullptr) outputs.hit[row] = first_largest(p, classes) == label_of(targets, row, classes) ? 1 : 0;
    double sum = 0.0;
    for (int64_t c = 0; c < classes; ++c) sum += static_cast<double>(p[c]);
    double value = 0.0, back = 0.0;  // back = sum of (d loss / d q) q, which normalising hands to every p
    for (int64_t c = 0; c < classes; ++c) {
      const double q = static_cast<double>(p[c]) / sum, y = smoothed_target(targets, row, classes, c);
      if (y != 0.0) value -= y * std::log(std::isnan(q) ? q : std::clamp(q, kLowest, kHighest));
      if (inside_clip(q)) back -= y;
    }
    if (outputs.loss != nullptr) outputs.loss[row] = static_cast<float>(value);
    if (outputs.gradient == nullptr) return;
    const double scale = static_cast<double>(outputs.gradient_scale) / sum;
    for (int64_t c = 0; c < classes; ++c) {
      const double q = static_cast<double>(p[c]) / sum, y = smoothed_target(targets, row, classes, c);
      outputs.gradient[row * classes + c] = static_cast<float>(scale * ((inside_clip(q) ? -y / q : 0.0) - back));
    }
  });
}

void binary_cross_entropy(const float* probabilities, const float* targets, int64_t rows, int64_t width,
                          float label_smoothing, float* loss, float* gradient, float gradient_scale) {
  elementwise_loss(probabilities, targets, rows, width, loss, gradient, gradient_scale, [=](double p, double target) {
    const double y = smoothed_binary(target, label_smoothing), q = std::isnan(p) ? p : std::clamp(p, kLowest, kHighest);
    const double value = -(y * std::log(q) + (1.0 - y) * std::log1p(-q));
    return ElementLoss{value, inside_clip(p) ? (q - y) / (q * (1.0 - q)) : 0.0};
  });
}

void binary_cross_entropy_from_logits(const float* logits, const float* targets, int64_t rows, int64_t width,
                                      float label_smoothing, float* loss, float* gradient, float gradient_scale) {
  elementwise_loss(logits, targets, rows, width, loss, gradient, gradient_scale, [=](double z, double target) {
    const double y = smoothed_binary(target, label_smoothing), e = std::exp(-std::abs(z));
    const double sigmoid = z >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    return ElementLoss{std::max(z, 0.0) - z * y + std::log1p(e), sigmoid - y};
  });
}

void mean_squared_error(const float* predictions, const float* targets, int64_t rows, int64_t width, float* loss,
                        float* gradient, float gradient_scale) {
  elementwise_loss(predictions, targets, rows, width, loss, gradient, gradient_scale, [](double p, double y) {
    return ElementLoss{(p - y) * (p - y), 2.0 * (p - y)};
  });
}

void mean_absolute_error(const float* predictions, const float* targets, int64_t rows, int64_t width, float* loss,
                         float* gradient, float gradient_scale) {
  elementwise_loss(predictions, targets, rows, width, loss, gradient, gradient_scale, [](double p, double y) {
    return ElementLoss{std::abs(p - y), static_cast<double>((p > y) - (p < y))};
  });
}

void class_factors(const ClassTargets& targets, int64_t rows, int64_t classes, const float* weights, int64_t count,
                   float* factor) {
  for_rows(rows, classes, [&](int64_t row) {
    int64_t label = -1;
    if (targets.dense == nullptr || classes > 1)
      label = label_of(targets, row, classes);
    else if (std::isfinite(targets.dense[row]))
      label = std::lrint(targets.dense[row]);
    factor[row] = label >= 0 && label < count ? weights[label] : 1.0F;
  });
}

void scale_rows(float* x, int64_t rows, int64_t width, const float* factor) {
  for_rows(rows, width, [&](int64_t row) {
    for (int64_t i = row * width; i < (row + 1) * width; ++i) x[i] *= factor[row];
  });
}

}  // namespace dptrain::kernels::cpu
