#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuCosineSimilarity = cpu_loss<nn::CosineSimilaritySpec>([](const nn::CosineSimilaritySpec&,
                                                                                    const LossContext& context) {
  const LossShape shape = loss_shape(context);
  return of_sums({.rows = shape.positions(), .width = shape.classes, .inner = 1}, kernels::losses::CosineSimilarity{});
});

}  // namespace
}  // namespace dptrain::backend::cpu
