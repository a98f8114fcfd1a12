#include "nn/activations.h"

#include "backend/gpu/activation.h"
#include "backend/gpu/gpu_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class ActivationOp final : public GpuOp {
 public:
  ActivationOp(const nn::ActivationSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        activation_(spec.activation),
        width_(width_of(context.output())),
        positions_(context.output().elements() / width_) {}

  void forward(const OpArgs& a) override {
    activate(at(a), type_, activation_, a.inputs[0], a.out<void>(), a.rows * positions_, width_);
  }
  void backward(const OpArgs& a) override {
    activate_backward(at(a), type_, activation_, a.inputs[0], a.out<void>(), a.dy<void>(), a.input_gradients[0],
                      a.rows * positions_, width_);
  }

 private:
  nn::Activation activation_;
  std::int64_t width_, positions_;
};

const RegisteredOp kActivation = op<nn::ActivationSpec, ActivationOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
