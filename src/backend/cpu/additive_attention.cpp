#include "nn/attention.h"

#include "backend/cpu/attention_op.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOp kCpuAdditiveAttention =
    op<nn::AdditiveAttentionSpec, AttentionOp<nn::AdditiveAttentionSpec>>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
