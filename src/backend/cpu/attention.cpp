#include "layers/attention.h"

#include "backend/cpu/attention_op.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOp kCpuAttention = op<layers::AttentionSpec, AttentionOp<layers::AttentionSpec>>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
