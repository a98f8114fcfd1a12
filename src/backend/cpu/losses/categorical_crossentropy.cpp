#include "nn/losses.h"

#include "backend/cpu/losses/crossentropy.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuCategorical = cpu_loss<nn::CategoricalCrossentropySpec>(
    [](const nn::CategoricalCrossentropySpec& spec, const LossContext& context) {
      return crossentropy(context, spec.label_smoothing);
    });

}  // namespace
}  // namespace dptrain::backend::cpu
