#include "kernels/cpu/loss.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/class_rows.h"

namespace dptrain::kernels::cpu {

namespace {

using losses::clipped;
using losses::inside_clip;

void scale_row(float* x, int64_t row, int64_t width, float factor) {
  for (int64_t i = row * width; i < (row + 1) * width; ++i) x[i] *= factor;
}

}  // namespace

void categorical_cross_entropy(const Launch&, DType, const float* probabilities, int64_t rows, int64_t classes,
                               const LossTargets& targets, const LossOutputs& outputs) {
  for_rows(rows, classes, [&](int64_t row) {
    const float* p = probabilities + row * classes;
    if (outputs.hit != nullptr) outputs.hit[row] = first_largest(p, classes) == label_of(targets, row, classes) ? 1 : 0;
    double sum = 0.0;
    for (int64_t c = 0; c < classes; ++c) sum += static_cast<double>(p[c]);
    double value = 0.0, back = 0.0;  // back = sum of (d loss / d q) q, which normalization propagates to every p
    for (int64_t c = 0; c < classes; ++c) {
      const double q = static_cast<double>(p[c]) / sum, y = smoothed_target(targets, row, classes, c);
      if (y != 0.0) value -= y * std::log(clipped(q));
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

void categorical_hinge(const Launch&, DType, const LossRows& a) {
  for_rows(a.rows, a.width, [&](int64_t row) {
    const float* const p = a.predictions + row * a.width;
    const float* const targets = a.targets.dense + row * a.width;
    const auto target = [&](int64_t i) { return static_cast<double>(targets[i]); };
    const auto other = [&](int64_t i) { return (1.0 - target(i)) * static_cast<double>(p[i]); };
    double right = 0.0, wrong = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < a.width; ++i) {
      right += target(i) * static_cast<double>(p[i]);  // NaN if a prediction is
      wrong = other(i) > wrong ? other(i) : wrong;
    }
    int64_t sharers = 0;
    for (int64_t i = 0; i < a.width; ++i) sharers += other(i) == wrong ? 1 : 0;
    const double value = wrong - right + 1.0;
    const bool kept = !(value < 0.0);
    if (a.outputs.loss != nullptr) a.outputs.loss[row] = kept ? static_cast<float>(value) : 0.0F;
    if (a.outputs.gradient == nullptr) return;
    const double factor = kept ? static_cast<double>(a.outputs.gradient_scale) : 0.0;
    for (int64_t i = 0; i < a.width; ++i) {
      const double share = other(i) == wrong ? (1.0 - target(i)) / static_cast<double>(sharers) : 0.0;
      a.outputs.gradient[row * a.width + i] = static_cast<float>(factor * (share - target(i)));
    }
  });
}

void weigh_by_class(const Launch&, DType, const LossTargets& targets, int64_t rows, int64_t width, const float* weights,
                    int64_t count, float* loss, float* gradient) {
  for_rows(rows, width, [&](int64_t row) {
    int64_t label = -1;
    if (targets.dense == nullptr || width > 1)
      label = label_of(targets, row, width);
    else if (std::isfinite(targets.dense[row]))
      label = std::lrint(targets.dense[row]);
    const float factor = label >= 0 && label < count ? weights[label] : 1.0F;
    loss[row] *= factor;
    if (gradient != nullptr) scale_row(gradient, row, width, factor);
  });
}

void weigh_by_sample(const Launch&, DType, const float* weights, int64_t rows, int64_t parts, int64_t width,
                     float* loss, float* gradient) {
  for_rows(rows, width, [&](int64_t row) {
    scale_row(loss, row, parts, weights[row]);
    if (gradient != nullptr) scale_row(gradient, row, width, weights[row]);
  });
}

void mask_gradient(const Launch&, DType, const uint8_t* mask, int64_t rows, int64_t width, const float* scale,
                   float* gradient) {
  for_rows(rows, width, [&](int64_t row) {
    for (int64_t i = row * width; i < (row + 1) * width; ++i)
      gradient[i] = mask[row] != 0 ? *scale * gradient[i] : 0.0F;
  });
}

}  // namespace dptrain::kernels::cpu
