#include "optim/losses/categorical_crossentropy.h"

#include "device/cpu/losses/crossentropy.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredLossOp kCpuCategorical = cpu_loss<optim::CategoricalCrossentropySpec>(
    [](const optim::CategoricalCrossentropySpec& spec, const LossContext& context) {
      return crossentropy(context, spec.label_smoothing);
    });

}  // namespace
}  // namespace dptrain::device::cpu
