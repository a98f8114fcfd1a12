#include "backend/cpu/optimizers/adam_op.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOptimizerOp kCpuAdam = optimizer_op<nn::AdamSpec, AdamOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
