#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuBinaryEntropy =
    cpu_loss<nn::BinaryCrossentropySpec>([](const nn::BinaryCrossentropySpec& spec, const LossContext& context) {
      const kernels::losses::BinarySmoothing smoothing{spec.label_smoothing};
      if (context.loss.from_logits)
        return of_elements(context, kernels::losses::BinaryCrossentropyFromLogits{smoothing});
      return of_elements(context, kernels::losses::BinaryCrossentropy{smoothing});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
