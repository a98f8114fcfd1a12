#include "layers/conv3d.h"

#include "device/conv3d_op.h"
#include "device/gpu/volume_kernels.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredOp kConv3D = op<layers::Conv3DSpec, Conv3DOp<VolumeKernels>>(
    kKind, {.fuses = {takes_activation()}, .weight_orders = {{4, 1, 2, 0, 3}}});

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
