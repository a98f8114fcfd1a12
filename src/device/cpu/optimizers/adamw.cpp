#include "optim/optimizers/adamw.h"

#include "device/cpu/optimizers/adam_op.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredOptimizerOp kCpuAdamW = optimizer_op<optim::AdamWSpec, AdamOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
