#include "nn/merging.h"

#include "backend/cpu/sum_op.h"

namespace dptrain::backend::cpu {
namespace {

class AverageOp final : public SumOp {
 public:
  AverageOp(const nn::AverageSpec&, const OpContext& context, Device&)
      : SumOp(context, 1.0F / static_cast<float>(context.step.inputs.size())) {}
};

const RegisteredOp kCpuAverage = op<nn::AverageSpec, AverageOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
