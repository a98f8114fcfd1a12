#include "layers/elu.h"

#include "device/gpu/rectifier_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class ELUOp final : public RectifierOp {
 public:
  ELUOp(const layers::ELUSpec& spec, const OpContext& context, Device& device)
      : RectifierOp(kernel::Activation::kElu, spec.alpha, context, device) {}
};

const RegisteredOp kELU = op<layers::ELUSpec, ELUOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
