#include "nn/attention.h"

#include "backend/cpu/attention_op.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOp kCpuAttention = op<nn::AttentionSpec, AttentionOp<nn::AttentionSpec>>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
