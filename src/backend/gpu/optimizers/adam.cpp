#include "backend/gpu/optimizers/adam_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredOptimizerOp kAdam = optimizer_op<nn::AdamSpec, AdamOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
