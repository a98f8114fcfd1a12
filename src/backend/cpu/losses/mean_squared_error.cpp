#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanSquaredError =
    cpu_loss<nn::losses::MeanSquaredError>([](const nn::losses::MeanSquaredError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanSquaredError{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
