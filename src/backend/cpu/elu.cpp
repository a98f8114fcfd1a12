#include "nn/activations.h"

#include "backend/cpu/rectifier_op.h"

namespace dptrain::backend::cpu {
namespace {

class ELUOp final : public RectifierOp {
 public:
  ELUOp(const nn::ELUSpec& spec, const OpContext& context, Device&)
      : RectifierOp(kernels::cpu::Activation::kElu, spec.alpha, context) {}
};

const RegisteredOp kCpuELU = op<nn::ELUSpec, ELUOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
