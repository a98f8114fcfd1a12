#include "layers/additive_attention.h"

#include "device/gpu/attention_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredOp kAdditiveAttention =
    op<layers::AdditiveAttentionSpec, AttentionOp<layers::AdditiveAttentionSpec>>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
