#include "nn/losses/squared_hinge.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/squared_hinge.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuSquaredHinge =
    cpu_loss<nn::SquaredHingeSpec>([](const nn::SquaredHingeSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredHinge{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
