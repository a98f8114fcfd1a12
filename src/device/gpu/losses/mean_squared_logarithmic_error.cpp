#include "optim/losses/mean_squared_logarithmic_error.h"

#include "device/gpu/losses/row_loss.h"
#include "kernels/losses/mean_squared_logarithmic_error.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredLossOp kGpuMeanSquaredLogarithmicError = gpu_loss<optim::MeanSquaredLogarithmicErrorSpec>(
    [](const optim::MeanSquaredLogarithmicErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredLogarithmic{});
    });

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
