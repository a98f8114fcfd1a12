#include "nn/convolutions.h"

#include "backend/conv3d_transpose_op.h"
#include "backend/gpu/volume_kernels.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

const RegisteredOp kConv3DTranspose = op<nn::Conv3DTransposeSpec, Conv3DTransposeOp<VolumeKernels>>(
    kKind, {.fuses = {takes_activation()}, .weight_orders = {{4, 1, 2, 0, 3}}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
