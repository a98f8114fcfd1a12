#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuLogCosh =
    cpu_loss<nn::losses::LogCosh>([](const nn::losses::LogCosh&, const LossContext& context) {
      return of_elements(context, kernels::losses::LogCosh{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
