#include "nn/dropout.h"

#include "backend/cpu/spread_dropout_op.h"
#include "backend/spread_axes.h"

namespace dptrain::backend::cpu {
namespace {

class StochasticDepthOp final : public SpreadDropoutOp {
 public:
  StochasticDepthOp(const nn::StochasticDepthSpec& spec, const OpContext& context, Device&)
      : SpreadDropoutOp(spec.drop_path_rate, one_number(context.input(0)), context) {}
};

const RegisteredOp kCpuStochasticDepth = op<nn::StochasticDepthSpec, StochasticDepthOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
