#include "nn/losses/poisson.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/poisson.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuPoisson = cpu_loss<nn::PoissonSpec>([](const nn::PoissonSpec&, const LossContext& context) {
  return of_elements(context, kernels::losses::Poisson{});
});

}  // namespace
}  // namespace dptrain::backend::cpu
