#include "nn/merging.h"

#include "backend/gpu/extreme_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class MaximumOp final : public ExtremeOp {
 public:
  MaximumOp(const nn::MaximumSpec&, const OpContext& context, Device& device)
      : ExtremeOp(context, device, kernel::Extreme::kLargest) {}
};

const RegisteredOp kMaximum = op<nn::MaximumSpec, MaximumOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
