#include "optim/losses/hinge.h"

#include "device/gpu/losses/row_loss.h"
#include "kernels/losses/hinge.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredLossOp kGpuHinge = gpu_loss<optim::HingeSpec>(
    [](const optim::HingeSpec&, const LossContext& context) { return of_elements(context, kernels::losses::Hinge{}); });

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
