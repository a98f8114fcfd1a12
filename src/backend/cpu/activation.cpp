#include "backend/cpu/activation.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/softmax.h"

namespace dptrain::backend::cpu {

using nn::Activation;

void activate(Activation f, const float* x, float* y, std::int64_t positions, std::int64_t width) {
  if (f == Activation::kSoftmax) return kernels::cpu::softmax_forward(x, positions, width, y);
  if (f == Activation::kLogSoftmax) return kernels::cpu::log_softmax_forward(x, positions, width, y);
  kernels::cpu::activation_forward(f, kernels::traits_of(f).alpha, x, y, positions * width);
}

void activate_backward(Activation f, const float* x, const float* y, const float* dy, float* dx, std::int64_t positions,
                       std::int64_t width) {
  const std::int64_t n = positions * width;
  const float alpha = kernels::traits_of(f).alpha;
  if (f == Activation::kLinear) {
    if (dx != dy) kernels::cpu::copy(dy, dx, n);
  } else if (f == Activation::kSoftmax) {
    kernels::cpu::softmax_backward(y, dy, positions, width, dx);
  } else if (f == Activation::kLogSoftmax) {
    kernels::cpu::log_softmax_backward(y, dy, positions, width, dx);
  } else if (nn::backward_from_output(f)) {
    kernels::cpu::activation_backward_from_output(f, alpha, y, dy, dx, n);
  } else {
    kernels::cpu::activation_backward_from_input(f, alpha, x, dy, dx, n);
  }
}

void Epilogue::apply(float* y, std::int64_t rows) const {
  if (activation_ != Activation::kLinear) activate(activation_, y, y, rows * elements_ / width_, width_);
}

void Epilogue::undo(const float* y, float* dy, std::int64_t rows) const {
  if (to_undo()) activate_backward(activation_, nullptr, y, dy, dy, rows * elements_ / width_, width_);
}

}  // namespace dptrain::backend::cpu
