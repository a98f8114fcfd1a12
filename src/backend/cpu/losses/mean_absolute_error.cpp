#include "optim/losses/mean_absolute_error.h"

#include "backend/cpu/losses/row_loss.h"
#include "kernels/losses/mean_absolute_error.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredLossOp kCpuMeanAbsoluteError =
    cpu_loss<optim::MeanAbsoluteErrorSpec>([](const optim::MeanAbsoluteErrorSpec&, const LossContext& context) {
      return of_elements(context, kernels::losses::Absolute{});
    });

}  // namespace
}  // namespace dptrain::backend::cpu
