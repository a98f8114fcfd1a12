#include "layers/dropout.h"

#include "device/gpu/spread_dropout_op.h"
#include "device/spread_axes.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class DropoutOp final : public SpreadDropoutOp {
 public:
  DropoutOp(const layers::DropoutSpec& spec, const OpContext& context, Device& device)
      : SpreadDropoutOp(spec.rate, spread_axes(spec, context.input(0)), context, device) {}
};

const RegisteredOp kDropout = op<layers::DropoutSpec, DropoutOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
