#include "nn/optimizers.h"

#include "backend/gpu/optimizers/adam_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredOptimizerOp kAdamW = optimizer_op<nn::AdamWSpec, AdamOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
