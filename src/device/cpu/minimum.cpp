#include "layers/minimum.h"

#include "device/cpu/extreme_op.h"

namespace dptrain::device::cpu {
namespace {

class MinimumOp final : public ExtremeOp {
 public:
  MinimumOp(const layers::MinimumSpec&, const OpContext& context, Device&) : ExtremeOp(context, false) {}
};

const RegisteredOp kCpuMinimum = op<layers::MinimumSpec, MinimumOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
