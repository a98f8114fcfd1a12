#include "nn/activations.h"

#include <limits>

#include "backend/device.h"
#include "kernels/cpu/activation.h"

namespace dptrain::backend::cpu {
namespace {

class ReLUOp final : public Op {
 public:
  ReLUOp(const nn::ReLUSpec& spec, const OpContext& context, Device&)
      : layer_{.max_value = spec.max_value.value_or(std::numeric_limits<float>::infinity()),
               .negative_slope = spec.negative_slope,
               .threshold = spec.threshold},
        elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernels::cpu::relu_layer_forward(layer_, a.in(), a.out(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernels::cpu::relu_layer_backward(layer_, a.in(), a.dy(), a.dx(), a.rows * elements_);
  }

 private:
  kernels::cpu::ReluLayer layer_;
  std::int64_t elements_;
};

const RegisteredOp kCpuReLU = op<nn::ReLUSpec, ReLUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
