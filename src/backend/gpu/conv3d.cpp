#include "nn/convolutions.h"

#include "backend/conv3d_op.h"
#include "backend/gpu/volume_kernels.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredOp kConv3D = op<nn::Conv3DSpec, Conv3DOp<VolumeKernels>>(
    kKind, {.fuses = {takes_activation()}, .weight_orders = {{4, 1, 2, 0, 3}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
