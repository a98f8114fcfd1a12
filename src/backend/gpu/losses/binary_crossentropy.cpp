#include "nn/losses/binary_crossentropy.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/binary_crossentropy.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuBinaryEntropy =
    gpu_loss<nn::BinaryCrossentropySpec>([](const nn::BinaryCrossentropySpec& spec, const LossContext& context) {
      const kernels::losses::BinarySmoothing smoothing{spec.label_smoothing};
      if (context.loss.from_logits) return of_elements(context, kernels::losses::BinaryFromLogits{smoothing});
      return of_elements(context, kernels::losses::Binary{smoothing});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
