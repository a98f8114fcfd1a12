#include "nn/losses/huber.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/huber.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuHuber = gpu_loss<nn::HuberSpec>([](const nn::HuberSpec& spec, const LossContext& context) {
  return of_elements(context, kernels::losses::Huber{spec.delta});
});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
