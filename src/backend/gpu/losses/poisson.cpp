#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuPoisson =
    gpu_loss<nn::losses::Poisson>([](const nn::losses::Poisson&, const LossContext& context) {
      return of_elements(context, kernels::losses::Poisson{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
