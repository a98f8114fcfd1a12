#include "optim/losses/squared_hinge.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/squared_hinge.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuSquaredHinge =
    cpu_loss<optim::SquaredHingeSpec>([](const optim::SquaredHingeSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredHinge{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
