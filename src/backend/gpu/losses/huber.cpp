#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuHuber =
    gpu_loss<nn::losses::Huber>([](const nn::losses::Huber& spec, const LossContext& context) {
      return of_elements(context, kernels::losses::Huber{spec.delta});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
