#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuLogCosh =
    gpu_loss<nn::losses::LogCosh>([](const nn::losses::LogCosh&, const LossContext& context) {
      return of_elements(context, kernels::losses::LogCosh{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
