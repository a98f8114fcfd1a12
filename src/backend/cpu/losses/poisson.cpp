#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuPoisson =
    cpu_loss<nn::losses::Poisson>([](const nn::losses::Poisson&, const LossContext& context) {
      return of_elements(context, kernels::losses::Poisson{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
