#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuDice = gpu_loss<nn::DiceSpec>([](const nn::DiceSpec& spec, const LossContext& context) {
  const nn::DiceSums sums = nn::dice_sums(spec, context.prediction());
  return of_sums({.rows = sums.outer, .width = sums.length, .inner = sums.inner}, kernels::losses::Dice{});
});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
