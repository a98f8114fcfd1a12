#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanSquaredLogarithmicError = cpu_loss<nn::losses::MeanSquaredLogarithmicError>(
    [](const nn::losses::MeanSquaredLogarithmicError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanSquaredLogarithmicError{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
