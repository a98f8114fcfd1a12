#include "optim/losses/poisson.h"

#include "device/gpu/losses/row_loss.h"
#include "kernels/losses/poisson.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredLossOp kGpuPoisson =
    gpu_loss<optim::PoissonSpec>([](const optim::PoissonSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::Poisson{});
    });

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
