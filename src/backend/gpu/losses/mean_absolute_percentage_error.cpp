#include "nn/losses/mean_absolute_percentage_error.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/mean_absolute_percentage_error.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanAbsolutePercentageError = gpu_loss<nn::MeanAbsolutePercentageErrorSpec>(
    [](const nn::MeanAbsolutePercentageErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::AbsolutePercentage{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
