#include "nn/losses/huber.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/huber.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuHuber = cpu_loss<nn::HuberSpec>([](const nn::HuberSpec& spec, const LossContext& context) {
  return of_elements(context, kernels::losses::Huber{spec.delta});
});

}  // namespace
}  // namespace dptrain::backend::cpu
