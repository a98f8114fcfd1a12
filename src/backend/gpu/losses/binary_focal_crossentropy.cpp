#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuBinaryFocal = gpu_loss<
    nn::BinaryFocalCrossentropySpec>([](const nn::BinaryFocalCrossentropySpec& spec, const LossContext& context) {
  const kernels::losses::FocalFactor focus{spec.gamma, spec.apply_class_balancing, spec.alpha, {spec.label_smoothing}};
  if (context.loss.from_logits) return of_elements(context, kernels::losses::BinaryFocalCrossentropyFromLogits{focus});
  return of_elements(context, kernels::losses::BinaryFocalCrossentropy{focus});
});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
