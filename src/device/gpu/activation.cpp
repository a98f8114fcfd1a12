#include "device/gpu/activation.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/softmax.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

using layers::Activation;
using Kernel = kernel::Activation;

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

void activate(const kernel::Launch& at, DType type, Activation f, const void* x, void* y, std::int64_t positions,
              std::int64_t width) {
  if (f == Activation::kSoftmax) return kernel::softmax_forward(at, type, x, positions, width, y);
  const Function function = function_of(f);
  kernel::activation_forward(at, type, function.kernel, function.alpha, x, y, positions * width);
}

void activate_backward(const kernel::Launch& at, DType type, Activation f, const void* x, const void* y,
                       const void* dy, void* dx, std::int64_t positions, std::int64_t width) {
  const std::int64_t n = positions * width;
  const Function function = function_of(f);
  if (f == Activation::kLinear) {
    if (dx != dy) kernel::copy(at, type, dy, dx, n);
  } else if (f == Activation::kSoftmax) {
    kernel::softmax_backward(at, type, y, dy, positions, width, dx);
  } else if (layers::backward_from_output(f)) {
    kernel::activation_backward_from_output(at, type, function.kernel, function.alpha, y, dy, dx, n);
  } else {
    kernel::activation_backward_from_input(at, type, function.kernel, function.alpha, x, dy, dx, n);
  }
}

void Epilogue::apply(const kernel::Launch& at, void* y, std::int64_t rows) const {
  if (activation_ != Activation::kLinear) activate(at, type_, activation_, y, y, rows * elements_ / width_, width_);
}

void Epilogue::undo(const kernel::Launch& at, const void* y, void* dy, std::int64_t rows) const {
  if (to_undo()) activate_backward(at, type_, activation_, nullptr, y, dy, dy, rows * elements_ / width_, width_);
}

}  // namespace dptrain::device::DPTRAIN_GPU
