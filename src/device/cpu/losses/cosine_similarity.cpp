#include "optim/losses/cosine_similarity.h"

#include "device/cpu/losses/row_loss.h"
#include "kernels/losses/cosine_similarity.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredLossOp kCpuCosineSimilarity =
    cpu_loss<optim::CosineSimilaritySpec>([](const optim::CosineSimilaritySpec&, const LossContext& context) {
      const LossShape shape = loss_shape(context);
      return of_sums({.rows = shape.positions(), .width = shape.classes, .inner = 1}, kernels::losses::Cosine{});
    });

}  // namespace
}  // namespace dptrain::device::cpu
