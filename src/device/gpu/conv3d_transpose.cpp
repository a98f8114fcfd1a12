#include "layers/conv3d_transpose.h"

#include "device/conv3d_transpose_op.h"
#include "device/gpu/volume_kernels.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

const RegisteredOp kConv3DTranspose = op<layers::Conv3DTransposeSpec, Conv3DTransposeOp<VolumeKernels>>(
    kKind, {.fuses = {takes_activation()}, .weight_orders = {{4, 1, 2, 0, 3}}});

}  // namespace
}  // namespace dptrain::device::DPTRAIN_GPU
