#include "optim/losses/squared_hinge.h"

#include "device/cpu/losses/row_loss.h"
#include "kernels/losses/squared_hinge.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredLossOp kCpuSquaredHinge =
    cpu_loss<optim::SquaredHingeSpec>([](const optim::SquaredHingeSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredHinge{});
    });

}  // namespace
}  // namespace dptrain::device::cpu
