#include "nn/merging.h"

#include "backend/cpu/extreme_op.h"

namespace dptrain::backend::cpu {
namespace {

class MaximumOp final : public ExtremeOp {
 public:
  MaximumOp(const nn::MaximumSpec&, const OpContext& context, Device&) : ExtremeOp(context, true) {}
};

const RegisteredOp kCpuMaximum = op<nn::MaximumSpec, MaximumOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
