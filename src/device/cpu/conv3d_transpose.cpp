#include "layers/conv3d_transpose.h"

#include "device/conv3d_transpose_op.h"
#include "device/cpu/volume_kernels.h"

namespace dptrain::device::cpu {
namespace {

const RegisteredOp kCpuConv3DTranspose = op<layers::Conv3DTransposeSpec, Conv3DTransposeOp<VolumeKernels>>(
    DeviceKind::kCpu, {.fuses = {takes_activation()}, .weight_orders = {{1, 2, 0, 3, 4}}});

}  // namespace
}  // namespace dptrain::device::cpu
