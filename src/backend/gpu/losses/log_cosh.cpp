#include "nn/losses/log_cosh.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/log_cosh.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuLogCosh = gpu_loss<nn::LogCoshSpec>([](const nn::LogCoshSpec&, const LossContext& context) {
  return of_elements(context, kernels::losses::LogCosh{});
});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
