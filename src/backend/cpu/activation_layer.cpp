#include "nn/activations.h"

#include "backend/cpu/activation.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {
namespace {

class ActivationOp final : public Op {
 public:
  ActivationOp(const nn::ActivationSpec& spec, const OpContext& context, Device&)
      : activation_(spec.activation),
        width_(context.output().rank() > 0 ? context.output().back() : 1),
        positions_(context.output().elements() / width_) {}

  void forward(const OpArgs& a) override { activate(activation_, a.in(), a.out(), a.rows * positions_, width_); }
  void backward(const OpArgs& a) override {
    activate_backward(activation_, a.in(), a.out(), a.dy(), a.dx(), a.rows * positions_, width_);
  }

 private:
  nn::Activation activation_;
  std::int64_t width_, positions_;
};

const RegisteredOp kCpuActivation = op<nn::ActivationSpec, ActivationOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
