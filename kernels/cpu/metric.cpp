#include "kernels/cpu/metric.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/class_rows.h"

namespace dptrain::kernels::cpu {

namespace {

template <class F>
void mean_errors(const float* predictions, int64_t rows, int64_t classes, const LossTargets& targets, float* error,
                 const F& f) {
  const double share = 1.0 / static_cast<double>(classes);
  for_rows(rows, classes, [&](int64_t row) {
    double sum = 0.0;
    for (int64_t c = 0; c < classes; ++c)
      sum += f(static_cast<double>(predictions[row * classes + c]) -
               static_cast<double>(element_target(targets, row, classes, c)));
    error[row] = static_cast<float>(sum * share);
  });
}

}  // namespace

void categorical_hits(const Launch&, DType, const float* scores, int64_t rows, int64_t classes,
                      const LossTargets& targets, Hit* hit) {
  for_rows(rows, classes, [&](int64_t row) {
    hit[row] = first_largest(scores + row * classes, classes) == label_of(targets, row, classes) ? 1 : 0;
  });
}

void top_k_hits(const Launch&, DType, const float* scores, int64_t rows, int64_t classes, const LossTargets& targets,
                int64_t k, Hit* hit) {
  for_rows(rows, classes, [&](int64_t row) {
    const float* s = scores + row * classes;
    const int64_t label = label_of(targets, row, classes);
    if (label < 0 || label >= classes || std::isnan(s[label])) {
      hit[row] = 0;
      return;
    }
    const int64_t larger = std::count_if(s, s + classes, [&](float other) { return other > s[label]; });
    hit[row] = larger < k ? 1 : 0;
  });
}

void binary_hits(const Launch&, DType, const float* predictions, int64_t rows, int64_t classes,
                 const LossTargets& targets, float threshold, int32_t* hits) {
  for_rows(rows, classes, [&](int64_t row) {
    int32_t count = 0;
    for (int64_t c = 0; c < classes; ++c)
      count += (predictions[row * classes + c] > threshold) == (element_target(targets, row, classes, c) == 1.0F);
    hits[row] = count;
  });
}

void squared_errors(const Launch&, DType, const float* predictions, int64_t rows, int64_t classes,
                    const LossTargets& targets, float* error) {
  mean_errors(predictions, rows, classes, targets, error, [](double difference) { return difference * difference; });
}

void absolute_errors(const Launch&, DType, const float* predictions, int64_t rows, int64_t classes,
                     const LossTargets& targets, float* error) {
  mean_errors(predictions, rows, classes, targets, error, [](double difference) { return std::abs(difference); });
}

}  // namespace dptrain::kernels::cpu
