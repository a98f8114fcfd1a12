#include "nn/losses.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuHuber =
    cpu_loss<nn::losses::Huber>([](const nn::losses::Huber& spec, const LossContext& context) {
      return of_elements(context, kernels::losses::Huber{spec.delta});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
