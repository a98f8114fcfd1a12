#include "device/gpu/optimizers/adam_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredOptimizerOp kAdam = optimizer_op<optim::AdamSpec, AdamOp>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
