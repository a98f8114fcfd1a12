#pragma once

// Helpers for passes over rows of classes. Scalar loops: such rows are short.

#include "kernels/cpu/parallel.h"
#include "kernels/loss_rows.h"

namespace dptrain::kernels::cpu {

template <class F>
void for_rows(int64_t rows, int64_t width, const F& f) {
  parallel_ranges(rows, rows_per_piece(4 * width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

inline int64_t first_largest(const float* x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (x[i] > x[best]) best = i;
  return best;
}

/// The true class: the label, or the first largest dense target.
inline int64_t label_of(const LossTargets& targets, int64_t row, int64_t classes) {
  return targets.dense == nullptr ? targets.labels[row] : first_largest(targets.dense + row * classes, classes);
}

/// Target of one value: dense, or one-hot from the label; with one class, the label itself.
inline float element_target(const LossTargets& targets, int64_t row, int64_t classes, int64_t c) {
  if (targets.dense != nullptr) return targets.dense[row * classes + c];
  if (classes == 1) return static_cast<float>(targets.labels[row]);
  return targets.labels[row] == c ? 1.0F : 0.0F;
}

}  // namespace dptrain::kernels::cpu
