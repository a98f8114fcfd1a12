#include "nn/attention.h"

#include "backend/gpu/attention_op.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredOp kAdditiveAttention = op<nn::AdditiveAttentionSpec, AttentionOp<nn::AdditiveAttentionSpec>>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
