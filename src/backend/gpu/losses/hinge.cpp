#include "nn/losses/hinge.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/hinge.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuHinge = gpu_loss<nn::HingeSpec>(
    [](const nn::HingeSpec&, const LossContext& context) { return of_elements(context, kernels::losses::Hinge{}); });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
