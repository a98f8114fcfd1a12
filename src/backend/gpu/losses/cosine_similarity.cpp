#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuCosineSimilarity = gpu_loss<nn::CosineSimilaritySpec>([](const nn::CosineSimilaritySpec&,
                                                                                    const LossContext& context) {
  const LossShape shape = loss_shape(context);
  return of_sums({.rows = shape.positions(), .width = shape.classes, .inner = 1}, kernels::losses::CosineSimilarity{});
});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
