#include "nn/losses/squared_hinge.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/squared_hinge.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuSquaredHinge =
    gpu_loss<nn::SquaredHingeSpec>([](const nn::SquaredHingeSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredHinge{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
