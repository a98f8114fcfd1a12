#include "nn/activations.h"

#include "backend/cpu/rectifier_op.h"

namespace dptrain::backend::cpu {
namespace {

class LeakyReLUOp final : public RectifierOp {
 public:
  LeakyReLUOp(const nn::LeakyReLUSpec& spec, const OpContext& context, Device&)
      : RectifierOp(kernels::cpu::Activation::kLeakyRelu, spec.negative_slope, context) {}
};

const RegisteredOp kCpuLeakyReLU = op<nn::LeakyReLUSpec, LeakyReLUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
