#include "nn/merging.h"

#include "backend/cpu/extreme_op.h"

namespace dptrain::backend::cpu {
namespace {

class MinimumOp final : public ExtremeOp {
 public:
  MinimumOp(const nn::MinimumSpec&, const OpContext& context, Device&) : ExtremeOp(context, false) {}
};

const RegisteredOp kCpuMinimum = op<nn::MinimumSpec, MinimumOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
