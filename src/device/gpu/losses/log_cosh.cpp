#include "optim/losses/log_cosh.h"

#include "device/gpu/losses/row_loss.h"
#include "kernels/losses/log_cosh.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredLossOp kGpuLogCosh =
    gpu_loss<optim::LogCoshSpec>([](const optim::LogCoshSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::LogCosh{});
    });

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
