#include "optim/optimizers/adamw.h"

#include "device/gpu/optimizers/adam_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredOptimizerOp kAdamW = optimizer_op<optim::AdamWSpec, AdamOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
