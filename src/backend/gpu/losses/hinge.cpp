#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuHinge =
    gpu_loss<nn::losses::Hinge>([](const nn::losses::Hinge&, const LossContext& context) {
      return of_elements(context, kernels::losses::Hinge{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
