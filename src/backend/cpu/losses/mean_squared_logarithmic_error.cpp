#include "nn/losses/mean_squared_logarithmic_error.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/mean_squared_logarithmic_error.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanSquaredLogarithmicError = cpu_loss<nn::MeanSquaredLogarithmicErrorSpec>(
    [](const nn::MeanSquaredLogarithmicErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredLogarithmic{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
