#include "backend/gpu/activation.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/softmax.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

using nn::Activation;

void activate(const kernel::Launch& at, DType type, Activation f, const void* x, void* y, std::int64_t positions,
              std::int64_t width) {
  if (f == Activation::kSoftmax) return kernel::softmax_forward(at, type, x, positions, width, y);
  if (f == Activation::kLogSoftmax) return kernel::log_softmax_forward(at, type, x, positions, width, y);
  kernel::activation_forward(at, type, f, kernels::traits_of(f).alpha, x, y, positions * width);
}

void activate_backward(const kernel::Launch& at, DType type, Activation f, const void* x, const void* y, const void* dy,
                       void* dx, std::int64_t positions, std::int64_t width) {
  const std::int64_t n = positions * width;
  const float alpha = kernels::traits_of(f).alpha;
  if (f == Activation::kLinear) {
    if (dx != dy) kernel::copy(at, type, dy, dx, n);
  } else if (f == Activation::kSoftmax) {
    kernel::softmax_backward(at, type, y, dy, positions, width, dx);
  } else if (f == Activation::kLogSoftmax) {
    kernel::log_softmax_backward(at, type, y, dy, positions, width, dx);
  } else if (nn::backward_from_output(f)) {
    kernel::activation_backward_from_output(at, type, f, alpha, y, dy, dx, n);
  } else {
    kernel::activation_backward_from_input(at, type, f, alpha, x, dy, dx, n);
  }
}

void Epilogue::apply(const kernel::Launch& at, void* y, std::int64_t rows) const {
  if (activation_ != Activation::kLinear) activate(at, type_, activation_, y, y, rows * elements_ / width_, width_);
}

void Epilogue::undo(const kernel::Launch& at, const void* y, void* dy, std::int64_t rows) const {
  if (to_undo()) activate_backward(at, type_, activation_, nullptr, y, dy, dy, rows * elements_ / width_, width_);
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
