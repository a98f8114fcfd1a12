#include "device/cpu/optimizers/adam_op.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredOptimizerOp kCpuAdam = optimizer_op<optim::AdamSpec, AdamOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
