#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanAbsolutePercentageError = cpu_loss<nn::losses::MeanAbsolutePercentageError>(
    [](const nn::losses::MeanAbsolutePercentageError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanAbsolutePercentageError{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
