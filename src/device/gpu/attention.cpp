#include "layers/attention.h"

#include "device/gpu/attention_op.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredOp kAttention = op<layers::AttentionSpec, AttentionOp<layers::AttentionSpec>>(kKind);

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
