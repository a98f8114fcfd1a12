#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuKLDivergence =
    gpu_loss<nn::losses::KLDivergence>([](const nn::losses::KLDivergence&, const LossContext& context) {
      return of_elements(context, kernels::losses::KLDivergence{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
