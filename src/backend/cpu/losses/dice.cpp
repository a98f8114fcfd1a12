#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuDice = cpu_loss<nn::DiceSpec>([](const nn::DiceSpec& spec, const LossContext& context) {
  const nn::DiceSums sums = nn::dice_sums(spec, context.prediction());
  return of_sums({.rows = sums.outer, .width = sums.length, .inner = sums.inner}, kernels::losses::Dice{});
});

}  // namespace
}  // namespace dptrain::backend::cpu
