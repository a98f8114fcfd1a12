#include "optim/losses/mean_squared_logarithmic_error.h"

#include "device/cpu/losses/row_loss.h"
#include "kernels/losses/mean_squared_logarithmic_error.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredLossOp kCpuMeanSquaredLogarithmicError = cpu_loss<optim::MeanSquaredLogarithmicErrorSpec>(
    [](const optim::MeanSquaredLogarithmicErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredLogarithmic{});
    });

}  // namespace
}  // namespace dptrain::device::cpu
