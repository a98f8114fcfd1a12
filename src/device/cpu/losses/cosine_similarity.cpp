#include "optim/losses/cosine_similarity.h"

#include "device/cpu/losses/row_loss.h"
#include "kernels/losses/cosine_similarity.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredLossOp kCpuCosineSimilarity = cpu_loss<optim::CosineSimilaritySpec>(
    [](const optim::CosineSimilaritySpec&, const LossContext& context) -> std::unique_ptr<RowLoss> {
      const LossShape shape = loss_shape(context);
      return std::make_unique<SumsRowLoss<kernels::losses::Cosine>>(shape.positions(), shape.classes, 1,
                                                                    kernels::losses::Cosine{});
    });

}  // namespace
}  // namespace dptrain::device::cpu
