#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuBinaryFocal = cpu_loss<
    nn::BinaryFocalCrossentropySpec>([](const nn::BinaryFocalCrossentropySpec& spec, const LossContext& context) {
  const kernels::losses::FocalFactor focus{spec.gamma, spec.apply_class_balancing, spec.alpha, {spec.label_smoothing}};
  if (context.loss.from_logits) return of_elements(context, kernels::losses::BinaryFocalCrossentropyFromLogits{focus});
  return of_elements(context, kernels::losses::BinaryFocalCrossentropy{focus});
});

}  // namespace
}  // namespace dptrain::backend::cpu
