#include "nn/optimizers.h"

#include "backend/cpu/optimizers/adam_op.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOptimizerOp kCpuAdamW = optimizer_op<nn::AdamWSpec, AdamOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
