#include "nn/dropout.h"

#include "backend/gpu/spread_dropout_op.h"
#include "backend/spread_axes.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class DropoutOp final : public SpreadDropoutOp {
 public:
  DropoutOp(const nn::DropoutSpec& spec, const OpContext& context, Device& device)
      : SpreadDropoutOp(spec.rate, spread_axes(spec, context.input(0)), context, device) {}
};

const RegisteredOp kDropout = op<nn::DropoutSpec, DropoutOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
