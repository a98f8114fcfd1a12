#include "nn/losses/kl_divergence.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/kl_divergence.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuKLDivergence =
    gpu_loss<nn::KLDivergenceSpec>([](const nn::KLDivergenceSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::KullbackLeibler{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
