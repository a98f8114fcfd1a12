#include "nn/losses/mean_absolute_percentage_error.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/mean_absolute_percentage_error.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanAbsolutePercentageError = cpu_loss<nn::MeanAbsolutePercentageErrorSpec>(
    [](const nn::MeanAbsolutePercentageErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::AbsolutePercentage{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
