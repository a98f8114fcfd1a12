#include "nn/losses/mean_absolute_error.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/mean_absolute_error.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanAbsoluteError =
    cpu_loss<nn::MeanAbsoluteErrorSpec>([](const nn::MeanAbsoluteErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::Absolute{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
