#include "nn/losses.h"

#include "backend/gpu/losses/row_loss.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredLossOp kGpuCategoricalHinge =
    gpu_loss<nn::CategoricalHingeSpec>([](const nn::CategoricalHingeSpec&, const LossContext& context) {
      return RowLoss{
          .sample = position_rows(loss_shape(context)),
          .run = [](const kernel::Launch& at, const kernel::LossRows& rows) { kernel::categorical_hinge(at, rows); }};
    });

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
