#include "nn/losses.h"

#include "backend/gpu/losses/crossentropy.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuCategorical = gpu_loss<nn::CategoricalCrossentropySpec>(
    [](const nn::CategoricalCrossentropySpec& spec, const LossContext& context) {
      return crossentropy(context, spec.label_smoothing);
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
