#include "nn/merging.h"

#include "backend/gpu/extreme_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class MinimumOp final : public ExtremeOp {
 public:
  MinimumOp(const nn::MinimumSpec&, const OpContext& context, Device& device)
      : ExtremeOp(context, device, kernel::Extreme::kSmallest) {}
};

const RegisteredOp kMinimum = op<nn::MinimumSpec, MinimumOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
