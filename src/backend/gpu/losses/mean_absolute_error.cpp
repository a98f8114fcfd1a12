#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuMeanAbsoluteError =
    gpu_loss<nn::losses::MeanAbsoluteError>([](const nn::losses::MeanAbsoluteError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanAbsoluteError{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
