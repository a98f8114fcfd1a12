#pragma once

// Passes over rows of predictions that compute a loss of kernels/losses.h and its gradient. A loss is one float per
// row, unscaled. One thread computes a row. Rows are short or rare: scalar loops that sum in double; the hot loss is
// softmax_cross_entropy. Conventions: parallel.h.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/class_rows.h"
#include "kernels/cpu/launch.h"
#include "kernels/losses.h"

namespace dptrain::kernels::cpu {

using Hit = uint8_t;  ///< 1 or 0
using LossOutputs = LossOutputsOf<float, Hit>;
using LossRows = LossRowsOf<float, Hit>;

/// loss[row] = mean (or sum) over the row of f(prediction, target).value. Dense targets.
template <class F>
void element_loss(const Launch&, DType, const LossRows& a, const F& f) {
  const double share = losses::kSumsElements<F> ? 1.0 : 1.0 / static_cast<double>(a.width);
  const double scale = static_cast<double>(a.outputs.gradient_scale);
  for_rows(a.rows, a.width, [&](int64_t row) {
    double sum = 0.0;
    for (int64_t i = row * a.width; i < (row + 1) * a.width; ++i) {
      const losses::ElementLoss element =
          f(static_cast<double>(a.predictions[i]), static_cast<double>(a.targets.dense[i]));
      sum += element.value;
      if (a.outputs.gradient != nullptr) a.outputs.gradient[i] = static_cast<float>(element.slope * share * scale);
    }
    if (a.outputs.loss != nullptr) a.outputs.loss[row] = static_cast<float>(sum * share);
  });
}

/// Smoothed target of one class; NaN if the label is out of range.
inline double smoothed_target(const LossTargets& targets, int64_t row, int64_t classes, int64_t c) {
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

/// loss[row] = sum over classes of f(q, y').value, where q is p / sum p for probabilities, and softmax(z) for logits.
template <class F>
void class_loss(const Launch&, DType, const LossRows& a, bool logits, const F& f) {
  const int64_t classes = a.width;
  for_rows(a.rows, classes, [&](int64_t row) {
    const float* const p = a.predictions + row * classes;
    const double most = logits ? static_cast<double>(*std::max_element(p, p + classes)) : 0.0;
    const auto weight = [&](int64_t c) {
      return logits ? std::exp(static_cast<double>(p[c]) - most) : static_cast<double>(p[c]);
    };
    double sum = 0.0;
    for (int64_t c = 0; c < classes; ++c) sum += weight(c);
    double value = 0.0, back = 0.0;  // back = sum of (d loss / d q) q, which dividing by the sum propagates to every p
    for (int64_t c = 0; c < classes; ++c) {
      const double q = weight(c) / sum;
      const losses::ElementLoss element = f(q, smoothed_target(a.targets, row, classes, c));
      value += element.value;
      back += element.slope * q;
    }
    if (a.outputs.loss != nullptr) a.outputs.loss[row] = static_cast<float>(value);
    if (a.outputs.gradient == nullptr) return;
    const double scale = static_cast<double>(a.outputs.gradient_scale);
    for (int64_t c = 0; c < classes; ++c) {
      const double q = weight(c) / sum, slope = f(q, smoothed_target(a.targets, row, classes, c)).slope - back;
      a.outputs.gradient[row * classes + c] = static_cast<float>(scale * slope * (logits ? q : 1.0 / sum));
    }
  });
}

/// Computes f.loss(sums).value from sums over the middle axis of [rows, width, inner]: loss[row, i]. Dense targets.
template <class F>
void sums_loss(const Launch&, DType, const LossRows& a, int64_t inner, const F& f) {
  const double scale = static_cast<double>(a.outputs.gradient_scale);
  for_rows(a.rows * inner, a.width, [&](int64_t number) {
    const int64_t first = number / inner * a.width * inner + number % inner;
    const auto for_each = [&](const auto& g) {
      for (int64_t k = 0, i = first; k < a.width; ++k, i += inner)
        g(i, static_cast<double>(a.predictions[i]), static_cast<double>(a.targets.dense[i]));
    };
    losses::Sums sums;
    for_each([&](int64_t, double p, double y) {
      if (losses::is_counted<F>(y)) f.add(p, y, sums);
    });
    const losses::SumsLoss found = f.loss(sums);
    if (a.outputs.loss != nullptr) a.outputs.loss[number] = static_cast<float>(found.value);
    if (a.outputs.gradient == nullptr) return;
    for_each([&](int64_t i, double p, double y) {
      a.outputs.gradient[i] = losses::is_counted<F>(y) ? static_cast<float>(found.slope(p, y) * scale) : 0.0F;
    });
  });
}

}  // namespace dptrain::kernels::cpu
