#include "optim/losses/huber.h"

#include "device/cpu/losses/row_loss.h"
#include "kernels/losses/huber.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredLossOp kCpuHuber =
    cpu_loss<optim::HuberSpec>([](const optim::HuberSpec& spec, const LossContext& context) {
      return of_elements(context, kernels::losses::Huber{spec.delta});
    });

}  // namespace
}  // namespace dptrain::device::cpu
