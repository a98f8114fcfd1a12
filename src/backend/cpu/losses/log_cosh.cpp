#include "nn/losses/log_cosh.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/log_cosh.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuLogCosh = cpu_loss<nn::LogCoshSpec>([](const nn::LogCoshSpec&, const LossContext& context) {
  return of_elements(context, kernels::losses::LogCosh{});
});

}  // namespace
}  // namespace dptrain::backend::cpu
