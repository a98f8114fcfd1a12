#include "nn/activations.h"

#include <limits>

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/activation.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class ReLUOp final : public GpuOp {
 public:
  ReLUOp(const nn::ReLUSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        layer_{.max_value = spec.max_value.value_or(std::numeric_limits<float>::infinity()),
               .negative_slope = spec.negative_slope,
               .threshold = spec.threshold},
        elements_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    kernel::relu_layer_forward(at(a), type_, layer_, a.inputs[0], a.out<void>(), a.rows * elements_);
  }
  void backward(const OpArgs& a) override {
    kernel::relu_layer_backward(at(a), type_, layer_, a.inputs[0], a.dy<void>(), a.input_gradients[0],
                                a.rows * elements_);
  }

 private:
  kernel::ReluLayer layer_;
  std::int64_t elements_;
};

const RegisteredOp kReLU = op<nn::ReLUSpec, ReLUOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
