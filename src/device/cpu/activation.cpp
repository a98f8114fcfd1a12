#include "device/cpu/activation.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/softmax.h"

namespace dptrain::device::cpu {
namespace {

using layers::Activation;
using Kernel = kernels::cpu::Activation;

struct Function {
  Kernel kernel;
  float alpha = 0;
};

/// Keras's functions of these names have fixed parameters: leaky_relu 0.2, elu 1.
Function function_of(Activation f) {
  switch (f) {
    case Activation::kRelu: return {Kernel::relu};
    case Activation::kRelu6: return {Kernel::relu6};
    case Activation::kLeakyRelu: return {Kernel::leaky_relu, 0.2F};
    case Activation::kElu: return {Kernel::elu, 1.0F};
    case Activation::kSelu: return {Kernel::selu};
    case Activation::kGelu: return {Kernel::gelu};
    case Activation::kSwish: return {Kernel::swish};
    case Activation::kTanh: return {Kernel::tanh};
    case Activation::kSigmoid: return {Kernel::sigmoid};
    case Activation::kSoftplus: return {Kernel::softplus};
    case Activation::kLinear:
    case Activation::kSoftmax: break;  // not of single elements, or nothing to do: handled by the callers
  }
  return {Kernel::linear};
}

}  // namespace

void activate(Activation f, const float* x, float* y, std::int64_t positions, std::int64_t width) {
  if (f == Activation::kSoftmax) return kernels::cpu::softmax_forward(x, positions, width, y);
  const Function function = function_of(f);
  kernels::cpu::activation_forward(function.kernel, function.alpha, x, y, positions * width);
}

void activate_backward(Activation f, const float* x, const float* y, const float* dy, float* dx, std::int64_t positions,
                       std::int64_t width) {
  const std::int64_t n = positions * width;
  const Function function = function_of(f);
  if (f == Activation::kLinear) {
    if (dx != dy) kernels::cpu::copy(dy, dx, n);
  } else if (f == Activation::kSoftmax) {
    kernels::cpu::softmax_backward(y, dy, positions, width, dx);
  } else if (layers::backward_from_output(f)) {
    kernels::cpu::activation_backward_from_output(function.kernel, function.alpha, y, dy, dx, n);
  } else {
    kernels::cpu::activation_backward_from_input(function.kernel, function.alpha, x, dy, dx, n);
  }
}

void Epilogue::apply(float* y, std::int64_t rows) const {
  if (activation_ != Activation::kLinear) activate(activation_, y, y, rows * elements_ / width_, width_);
}

void Epilogue::undo(const float* y, float* dy, std::int64_t rows) const {
  if (to_undo()) activate_backward(activation_, nullptr, y, dy, dy, rows * elements_ / width_, width_);
}

}  // namespace dptrain::device::cpu
