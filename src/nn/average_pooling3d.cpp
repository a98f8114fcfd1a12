#include "nn/average_pooling3d.h"

#include "nn/average_pooling2d.h"
#include "nn/pooling3d.h"

namespace dptrain::nn {
namespace {

const Registered kAveragePooling3D = pooling3d<AveragePooling3DSpec>("AveragePooling3D");
const ComputedInPasses kAveragePooling3DPasses(pooling_passes<AveragePooling3DSpec, AveragePooling2DSpec>);

}  // namespace
}  // namespace dptrain::nn
