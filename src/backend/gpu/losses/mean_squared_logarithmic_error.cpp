#include "nn/losses/mean_squared_logarithmic_error.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/mean_squared_logarithmic_error.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanSquaredLogarithmicError = gpu_loss<nn::MeanSquaredLogarithmicErrorSpec>(
    [](const nn::MeanSquaredLogarithmicErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredLogarithmic{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
