#include "nn/losses/kl_divergence.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/kl_divergence.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuKLDivergence =
    cpu_loss<nn::KLDivergenceSpec>([](const nn::KLDivergenceSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::KullbackLeibler{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
