#include "nn/losses/hinge.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/hinge.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuHinge = cpu_loss<nn::HingeSpec>(
    [](const nn::HingeSpec&, const LossContext& context) { return of_elements(context, kernels::losses::Hinge{}); });

}  // namespace
}  // namespace dptrain::backend::cpu
