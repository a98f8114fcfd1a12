#include "layers/dropout.h"

#include "backend/cpu/spread_dropout_op.h"
#include "backend/spread_axes.h"

namespace dptrain::backend::cpu {
namespace {

class DropoutOp final : public SpreadDropoutOp {
 public:
  DropoutOp(const layers::DropoutSpec& spec, const OpContext& context, Device&)
      : SpreadDropoutOp(spec.rate, spread_axes(spec, context.input(0)), context) {}
};

const RegisteredOp kCpuDropout = op<layers::DropoutSpec, DropoutOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
