#include "optim/losses/categorical_crossentropy.h"

#include "backend/gpu/losses/crossentropy.h"

namespace dptrain::backend::DPTRAIN_GPU {
namespace {

const RegisteredLossOp kGpuCategorical = gpu_loss<optim::CategoricalCrossentropySpec>(
    [](const optim::CategoricalCrossentropySpec& spec, const LossContext& context) {
      return crossentropy(context, spec.label_smoothing);
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_GPU
