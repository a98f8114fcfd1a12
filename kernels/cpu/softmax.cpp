#include "kernels/cpu/softmax.h"

#include <algorithm>

#include "kernels/cpu/loss.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/cross_entropy-inl.h"
#include "kernels/cpu/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void softmax_forward_piece(const float* x, int64_t begin, int64_t end, int64_t classes, float* y) {
  if (classes > kFewClasses) {
    for (int64_t row = begin; row < end; ++row) softmax_row(x + row * classes, classes, y + row * classes);
    return;
  }
  for (int64_t row = begin; row < end; row += kLanes)
    softmax_group(x + row * classes, std::min(kLanes, end - row), classes, y + row * classes);
}

void softmax_backward_piece(const float* y, const float* dy, int64_t begin, int64_t end, int64_t classes, float* dx) {
  for (int64_t at = begin * classes; at < end * classes; at += classes)
    softmax_backward_row(y + at, dy + at, classes, dx + at);
}

void log_softmax_forward_piece(const float* x, int64_t begin, int64_t end, int64_t classes, float* y) {
  for (int64_t at = begin * classes; at < end * classes; at += classes) log_softmax_row(x + at, classes, y + at);
}

void log_softmax_backward_piece(const float* y, const float* dy, int64_t begin, int64_t end, int64_t classes,
                                float* dx) {
  for (int64_t at = begin * classes; at < end * classes; at += classes)
    log_softmax_backward_row(y + at, dy + at, classes, dx + at);
}

void cross_entropy_piece(const float* logits, int64_t begin, int64_t end, int64_t classes, const LossTargets& targets,
                         const LossOutputs& outputs) {
  if (classes > kFewClasses) {
    for (int64_t row = begin; row < end; ++row) cross_entropy_row(logits, row, classes, targets, outputs);
    return;
  }
  for (int64_t row = begin; row < end; row += kLanes)
    cross_entropy_group(logits, row, std::min(kLanes, end - row), classes, targets, outputs);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(softmax_forward_piece);
HWY_EXPORT(softmax_backward_piece);
HWY_EXPORT(log_softmax_forward_piece);
HWY_EXPORT(log_softmax_backward_piece);
HWY_EXPORT(cross_entropy_piece);

namespace {

/// An exponential costs about as much as copying four floats; all pieces but the last contain whole groups of rows.
int64_t softmax_rows_per_piece(int64_t classes) { return (rows_per_piece(4 * classes) + 15) / 16 * 16; }

}  // namespace

void softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y) {
  parallel_ranges(rows, softmax_rows_per_piece(classes), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax_forward_piece)(x, begin, end, classes, y);
  });
}

void softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes, float* dx) {
  parallel_ranges(rows, rows_per_piece(classes), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(softmax_backward_piece)(y, dy, begin, end, classes, dx);
  });
}

void log_softmax_forward(const Launch&, DType, const float* x, int64_t rows, int64_t classes, float* y) {
  parallel_ranges(rows, softmax_rows_per_piece(classes), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(log_softmax_forward_piece)(x, begin, end, classes, y);
  });
}

void log_softmax_backward(const Launch&, DType, const float* y, const float* dy, int64_t rows, int64_t classes,
                          float* dx) {
  parallel_ranges(rows, softmax_rows_per_piece(classes), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(log_softmax_backward_piece)(y, dy, begin, end, classes, dx);
  });
}

void softmax_cross_entropy(const Launch&, DType, const float* logits, int64_t rows, int64_t classes,
                           const LossTargets& targets, const LossOutputs& outputs) {
  parallel_ranges(rows, softmax_rows_per_piece(classes), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_piece)(logits, begin, end, classes, targets, outputs);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
