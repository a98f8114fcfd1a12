#include "nn/attention.h"

#include "backend/gpu/attention_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredOp kAttention = op<nn::AttentionSpec, AttentionOp<nn::AttentionSpec>>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
