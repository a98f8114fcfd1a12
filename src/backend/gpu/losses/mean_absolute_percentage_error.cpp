#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanAbsolutePercentageError = gpu_loss<nn::losses::MeanAbsolutePercentageError>(
    [](const nn::losses::MeanAbsolutePercentageError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanAbsolutePercentageError{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
