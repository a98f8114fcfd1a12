#include "nn/losses/poisson.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/poisson.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuPoisson = gpu_loss<nn::PoissonSpec>([](const nn::PoissonSpec&, const LossContext& context) {
  return of_elements(context, kernels::losses::Poisson{});
});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
