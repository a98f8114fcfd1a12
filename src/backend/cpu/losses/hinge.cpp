#include "optim/losses/hinge.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/hinge.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuHinge = cpu_loss<optim::HingeSpec>(
    [](const optim::HingeSpec&, const LossContext& context) { return of_elements(context, kernels::losses::Hinge{}); });

}  // namespace
}  // namespace dptrain::backend::cpu
