#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanSquaredError =
    gpu_loss<nn::losses::MeanSquaredError>([](const nn::losses::MeanSquaredError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanSquaredError{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
