#include "nn/losses/cosine_similarity.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses/cosine_similarity.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuCosineSimilarity =
    gpu_loss<nn::CosineSimilaritySpec>([](const nn::CosineSimilaritySpec&, const LossContext& context) {
      const LossShape shape = loss_shape(context);
      return of_sums({.rows = shape.positions(), .width = shape.classes, .inner = 1}, kernels::losses::Cosine{});
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
