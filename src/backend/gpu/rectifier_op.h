#pragma once

// The op of the activations with one parameter, which is not negative: signs of input and output agree, and backward
// reads the output alone.

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/activation.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class RectifierOp : public GpuOp {
 public:
  void forward(const OpArgs& a) override {
    kernel::activation_forward(at(a), type_, kind_, parameter_, a.inputs[0], a.out<void>(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernel::activation_backward_from_output(at(a), type_, kind_, parameter_, a.out<void>(), a.dy<void>(),
                                            a.input_gradients[0], a.rows * elements_);
  }

 protected:
  RectifierOp(kernel::Activation kind, float parameter, const OpContext& context, Device& device)
      : GpuOp(context, device), kind_(kind), parameter_(parameter), elements_(context.output().elements()) {}

 private:
  kernel::Activation kind_;
  float parameter_;
  std::int64_t elements_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
