#include "layers/additive_attention.h"

#include "device/cpu/attention_op.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredOp kCpuAdditiveAttention =
    op<layers::AdditiveAttentionSpec, AttentionOp<layers::AdditiveAttentionSpec>>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
