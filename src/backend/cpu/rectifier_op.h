#pragma once

// The op of the activations with one parameter, which is not negative: signs of input and output agree, and backward
// reads the output alone.

#include "backend/device.h"
#include "kernels/cpu/activation.h"

namespace dptrain::backend::cpu {

class RectifierOp : public Op {
 public:
  void forward(const OpArgs& a) override {
    kernels::cpu::activation_forward(kind_, parameter_, a.in(), a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::activation_backward_from_output(kind_, parameter_, a.out(), a.dy(), a.dx(), a.rows * elements_);
  }

 protected:
  RectifierOp(kernels::cpu::Activation kind, float parameter, const OpContext& context)
      : kind_(kind), parameter_(parameter), elements_(context.output().elements()) {}

 private:
  kernels::cpu::Activation kind_;
  float parameter_;
  std::int64_t elements_;
};

}  // namespace dptrain::backend::cpu
