#include "nn/losses/mean_squared_error.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/mean_squared_error.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanSquaredError =
    gpu_loss<nn::MeanSquaredErrorSpec>([](const nn::MeanSquaredErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::Squared{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
