#include "backend/ops/activations.h"

#include <limits>

#include "backend/ops/kernel_op.h"
#include "nn/activations.h"
#include DPTRAIN_KERNELS(activation.h)
#include DPTRAIN_KERNELS(elementwise.h)
#include DPTRAIN_KERNELS(softmax.h)

namespace dptrain::backend::DPTRAIN_BACKEND {

using nn::Activation;

void activate(const kernel::Launch& at, DType type, Activation f, const Element* x, Element* y, std::int64_t positions,
              std::int64_t width) {
  if (f == Activation::kSoftmax) return kernel::softmax_forward(at, type, x, positions, width, y);
  if (f == Activation::kLogSoftmax) return kernel::log_softmax_forward(at, type, x, positions, width, y);
  kernel::activation_forward(at, type, f, kernels::traits_of(f).alpha, x, y, positions * width);
}

void activate_backward(const kernel::Launch& at, DType type, Activation f, const Element* x, const Element* y,
                       const Element* dy, Element* dx, std::int64_t positions, std::int64_t width) {
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

void Epilogue::apply(const kernel::Launch& at, Element* y, std::int64_t rows) const {
  if (activation_ != Activation::kLinear) activate(at, type_, activation_, y, y, rows * elements_ / width_, width_);
}

void Epilogue::undo(const kernel::Launch& at, const Element* y, Element* dy, std::int64_t rows) const {
  if (changes_gradient())
    activate_backward(at, type_, activation_, nullptr, y, dy, dy, rows * elements_ / width_, width_);
}

namespace {

/// Activation and Softmax.
class ActivationOp final : public KernelOp {
 public:
  ActivationOp(const nn::ActivationSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device),
        activation_(spec.activation),
        width_(width_of(context.output())),
        positions_(context.output().elements() / width_) {}
  ActivationOp(const nn::SoftmaxSpec&, const OpContext& context, Device& device)
      : ActivationOp(nn::ActivationSpec{Activation::kSoftmax}, context, device) {}

  void forward(const OpArgs& a) override {
    activate(launch(a), type_, activation_, a.in<Element>(), a.out<Element>(), a.rows * positions_, width_);
  }
  void backward(const OpArgs& a) override {
    activate_backward(launch(a), type_, activation_, a.in<Element>(), a.out<Element>(), a.dy<Element>(),
                      a.dx<Element>(), a.rows * positions_, width_);
  }

 private:
  Activation activation_;
  std::int64_t width_, positions_;
};

class ReLUOp final : public KernelOp {
 public:
  ReLUOp(const nn::ReLUSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device),
        layer_{.max_value = spec.max_value.value_or(std::numeric_limits<float>::infinity()),
               .negative_slope = spec.negative_slope,
               .threshold = spec.threshold},
        elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernel::relu_layer_forward(launch(a), type_, layer_, a.in<Element>(), a.out<Element>(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernel::relu_layer_backward(launch(a), type_, layer_, a.in<Element>(), a.dy<Element>(), a.dx<Element>(),
                                a.rows * elements_);
  }

 private:
  kernels::ReluLayer layer_;
  std::int64_t elements_;
};

/// LeakyReLU and ELU. Their parameter is not negative: signs of input and output agree, and backward reads the output
/// alone.
class RectifierOp final : public KernelOp {
 public:
  RectifierOp(const nn::LeakyReLUSpec& spec, const OpContext& context, Device& device)
      : RectifierOp(Activation::kLeakyRelu, spec.negative_slope, context, device) {}
  RectifierOp(const nn::ELUSpec& spec, const OpContext& context, Device& device)
      : RectifierOp(Activation::kElu, spec.alpha, context, device) {}

  void forward(const OpArgs& a) override {
    kernel::activation_forward(launch(a), type_, kind_, parameter_, a.in<Element>(), a.out<Element>(),
                               a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernel::activation_backward_from_output(launch(a), type_, kind_, parameter_, a.out<Element>(), a.dy<Element>(),
                                            a.dx<Element>(), a.rows * elements_);
  }

 private:
  RectifierOp(Activation kind, float parameter, const OpContext& context, Device& device)
      : KernelOp(context, device), kind_(kind), parameter_(parameter), elements_(context.output().elements()) {}

  Activation kind_;
  float parameter_;
  std::int64_t elements_;
};

const RegisteredOp kActivation = op<nn::ActivationSpec, ActivationOp>(kKind);
const RegisteredOp kSoftmax = op<nn::SoftmaxSpec, ActivationOp>(kKind);
const RegisteredOp kReLU = op<nn::ReLUSpec, ReLUOp>(kKind);
const RegisteredOp kLeakyReLU = op<nn::LeakyReLUSpec, RectifierOp>(kKind);
const RegisteredOp kELU = op<nn::ELUSpec, RectifierOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
