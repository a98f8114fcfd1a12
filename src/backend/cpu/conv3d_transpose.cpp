#include "nn/convolutions.h"

#include "backend/conv3d_transpose_op.h"
#include "backend/cpu/volume_kernels.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOp kCpuConv3DTranspose = op<nn::Conv3DTransposeSpec, Conv3DTransposeOp<VolumeKernels>>(
    DeviceKind::kCpu, {.fuses = {takes_activation()}, .weight_orders = {{1, 2, 0, 3, 4}}});

}  // namespace
}  // namespace dptrain::backend::cpu
