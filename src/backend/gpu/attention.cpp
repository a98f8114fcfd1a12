#include "layers/attention.h"

#include "backend/gpu/attention_op.h"

namespace dptrain::backend::DPTRAIN_GPU {
namespace {

const RegisteredOp kAttention = op<layers::AttentionSpec, AttentionOp<layers::AttentionSpec>>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_GPU
