#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanSquaredLogarithmicError = gpu_loss<nn::losses::MeanSquaredLogarithmicError>(
    [](const nn::losses::MeanSquaredLogarithmicError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanSquaredLogarithmicError{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
