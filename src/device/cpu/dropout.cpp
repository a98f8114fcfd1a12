#include "layers/dropout.h"

#include "device/cpu/spread_dropout_op.h"
#include "device/spread_axes.h"

namespace dptrain::device::cpu {
namespace {

class DropoutOp final : public SpreadDropoutOp {
 public:
  DropoutOp(const layers::DropoutSpec& spec, const OpContext& context, Device&)
      : SpreadDropoutOp(spec.rate, spread_axes(spec, context.input(0)), context) {}
};

const RegisteredOp kCpuDropout = op<layers::DropoutSpec, DropoutOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
