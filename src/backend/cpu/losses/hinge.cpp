#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuHinge =
    cpu_loss<nn::losses::Hinge>([](const nn::losses::Hinge&, const LossContext& context) {
      return of_elements(context, kernels::losses::Hinge{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
