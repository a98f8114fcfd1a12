#include "nn/losses/binary_focal_crossentropy.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/binary_focal_crossentropy.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuBinaryFocal = gpu_loss<nn::BinaryFocalCrossentropySpec>(
    [](const nn::BinaryFocalCrossentropySpec& spec, const LossContext& context) {
      const kernels::losses::Focus focus{spec.gamma, spec.apply_class_balancing, spec.alpha, {spec.label_smoothing}};
      if (context.loss.from_logits) return of_elements(context, kernels::losses::BinaryFocalFromLogits{focus});
      return of_elements(context, kernels::losses::BinaryFocal{focus});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
