#include "nn/losses/mean_squared_error.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/mean_squared_error.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanSquaredError =
    cpu_loss<nn::MeanSquaredErrorSpec>([](const nn::MeanSquaredErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::Squared{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
