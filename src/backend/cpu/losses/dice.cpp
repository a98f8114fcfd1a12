#include "optim/losses/dice.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/dice.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuDice =
    cpu_loss<optim::DiceSpec>([](const optim::DiceSpec& spec, const LossContext& context) {
      const optim::DiceSums sums = optim::dice_sums(spec, context.prediction());
      return of_sums({.rows = sums.outer, .width = sums.length, .inner = sums.inner}, kernels::losses::Dice{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
