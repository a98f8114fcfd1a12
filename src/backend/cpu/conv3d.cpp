#include "nn/convolutions.h"

#include "backend/conv3d_op.h"
#include "backend/cpu/volume_kernels.h"

namespace dptrain::backend::cpu {
namespace {

const RegisteredOp kCpuConv3D = op<nn::Conv3DSpec, Conv3DOp<VolumeKernels>>(
    DeviceKind::kCpu, {.fuses = {takes_activation(), takes_frame_pooling()}, .weight_orders = {{1, 2, 0, 3, 4}}});

}  // namespace
}  // namespace dptrain::backend::cpu
