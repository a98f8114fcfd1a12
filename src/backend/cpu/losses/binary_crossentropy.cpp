#include "nn/losses/binary_crossentropy.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/binary_crossentropy.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuBinaryEntropy =
    cpu_loss<nn::BinaryCrossentropySpec>([](const nn::BinaryCrossentropySpec& spec, const LossContext& context) {
      const kernels::losses::BinarySmoothing smoothing{spec.label_smoothing};
      if (context.loss.from_logits) return of_elements(context, kernels::losses::BinaryFromLogits{smoothing});
      return of_elements(context, kernels::losses::Binary{smoothing});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
