#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanAbsoluteError =
    cpu_loss<nn::losses::MeanAbsoluteError>([](const nn::losses::MeanAbsoluteError&, const LossContext& context) {
      return of_elements(context, kernels::losses::MeanAbsoluteError{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
