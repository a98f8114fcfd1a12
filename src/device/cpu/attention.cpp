#include "layers/attention.h"

#include "device/cpu/attention_op.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredOp kCpuAttention = op<layers::AttentionSpec, AttentionOp<layers::AttentionSpec>>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
