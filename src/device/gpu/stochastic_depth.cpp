#include "layers/stochastic_depth.h"

#include "device/gpu/spread_dropout_op.h"
#include "device/spread_axes.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class StochasticDepthOp final : public SpreadDropoutOp {
 public:
  StochasticDepthOp(const layers::StochasticDepthSpec& spec, const OpContext& context, Device& device)
      : SpreadDropoutOp(spec.drop_path_rate, one_number(context.input(0)), context, device) {}
};

const RegisteredOp kStochasticDepth = op<layers::StochasticDepthSpec, StochasticDepthOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
