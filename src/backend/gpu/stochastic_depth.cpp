#include "nn/dropout.h"

#include "backend/gpu/spread_dropout_op.h"
#include "backend/spread_axes.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class StochasticDepthOp final : public SpreadDropoutOp {
 public:
  StochasticDepthOp(const nn::StochasticDepthSpec& spec, const OpContext& context, Device& device)
      : SpreadDropoutOp(spec.drop_path_rate, one_number(context.input(0)), context, device) {}
};

const RegisteredOp kStochasticDepth = op<nn::StochasticDepthSpec, StochasticDepthOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
