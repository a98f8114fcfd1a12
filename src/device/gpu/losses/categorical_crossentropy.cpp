#include "optim/losses/categorical_crossentropy.h"

#include "device/gpu/losses/crossentropy.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredLossOp kGpuCategorical = gpu_loss<optim::CategoricalCrossentropySpec>(
    [](const optim::CategoricalCrossentropySpec& spec, const LossContext& context) {
      return crossentropy(context, spec.label_smoothing);
    });

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
