#include "nn/losses/mean_absolute_error.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/mean_absolute_error.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanAbsoluteError =
    gpu_loss<nn::MeanAbsoluteErrorSpec>([](const nn::MeanAbsoluteErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::Absolute{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
