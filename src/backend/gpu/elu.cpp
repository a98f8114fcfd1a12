#include "nn/activations.h"

#include "backend/gpu/rectifier_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class ELUOp final : public RectifierOp {
 public:
  ELUOp(const nn::ELUSpec& spec, const OpContext& context, Device& device)
      : RectifierOp(kernel::Activation::kElu, spec.alpha, context, device) {}
};

const RegisteredOp kELU = op<nn::ELUSpec, ELUOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
