#include "layers/additive_attention.h"

#include "backend/cpu/attention_op.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOp kCpuAdditiveAttention =
    op<layers::AdditiveAttentionSpec, AttentionOp<layers::AdditiveAttentionSpec>>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
