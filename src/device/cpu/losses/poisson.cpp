#include "optim/losses/poisson.h"

#include "device/cpu/losses/row_loss.h"
#include "kernels/losses/poisson.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredLossOp kCpuPoisson =
    cpu_loss<optim::PoissonSpec>([](const optim::PoissonSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::Poisson{});
    });

}  // namespace
}  // namespace dptrain::device::cpu
