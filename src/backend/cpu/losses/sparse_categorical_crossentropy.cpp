#include "nn/losses.h"

#include "backend/cpu/losses/crossentropy.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuSparseCategorical = cpu_loss<nn::SparseCategoricalCrossentropySpec>(
    [](const nn::SparseCategoricalCrossentropySpec&, const LossContext& context) {
      return crossentropy(context, 0.0);
    });

}  // namespace
}  // namespace dptrain::backend::cpu
