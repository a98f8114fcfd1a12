#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuBinaryEntropy =
    gpu_loss<nn::BinaryCrossentropySpec>([](const nn::BinaryCrossentropySpec& spec, const LossContext& context) {
      const kernels::losses::BinarySmoothing smoothing{spec.label_smoothing};
      if (context.loss.from_logits)
        return of_elements(context, kernels::losses::BinaryCrossentropyFromLogits{smoothing});
      return of_elements(context, kernels::losses::BinaryCrossentropy{smoothing});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
