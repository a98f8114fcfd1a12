#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuSquaredHinge =
    gpu_loss<nn::losses::SquaredHinge>([](const nn::losses::SquaredHinge&, const LossContext& context) {
      return of_elements(context, kernels::losses::SquaredHinge{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
