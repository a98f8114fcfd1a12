#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuCategoricalHinge =
    cpu_loss<nn::CategoricalHingeSpec>([](const nn::CategoricalHingeSpec&, const LossContext& context) {
      return RowLoss{.sample = position_rows(loss_shape(context)),
                     .run = [](const LossCall& c) { kernels::cpu::categorical_hinge(c.value_rows()); }};
    });

}  // namespace
}  // namespace dptrain::backend::cpu
