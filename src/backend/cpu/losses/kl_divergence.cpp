#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuKLDivergence =
    cpu_loss<nn::losses::KLDivergence>([](const nn::losses::KLDivergence&, const LossContext& context) {
      return of_elements(context, kernels::losses::KLDivergence{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
