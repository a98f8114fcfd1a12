#include "nn/dropout.h"

#include "backend/cpu/spread_dropout_op.h"
#include "backend/spread_axes.h"

namespace dptrain::backend::cpu {
namespace {

class DropoutOp final : public SpreadDropoutOp {
 public:
  DropoutOp(const nn::DropoutSpec& spec, const OpContext& context, Device&)
      : SpreadDropoutOp(spec.rate, spread_axes(spec, context.input(0)), context) {}
};

const RegisteredOp kCpuDropout = op<nn::DropoutSpec, DropoutOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
