#include "nn/activations.h"

#include "backend/gpu/rectifier_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class LeakyReLUOp final : public RectifierOp {
 public:
  LeakyReLUOp(const nn::LeakyReLUSpec& spec, const OpContext& context, Device& device)
      : RectifierOp(kernel::Activation::kLeakyRelu, spec.negative_slope, context, device) {}
};

const RegisteredOp kLeakyReLU = op<nn::LeakyReLUSpec, LeakyReLUOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
