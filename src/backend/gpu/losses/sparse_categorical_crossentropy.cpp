#include "nn/losses.h"

#include "backend/gpu/losses/crossentropy.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuSparseCategorical = gpu_loss<nn::SparseCategoricalCrossentropySpec>(
    [](const nn::SparseCategoricalCrossentropySpec&, const LossContext& context) {
      return crossentropy(context, 0.0);
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
