#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuSquaredHinge =
    cpu_loss<nn::losses::SquaredHinge>([](const nn::losses::SquaredHinge&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredHinge{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
