#include "layers/average_pooling3d.h"

#include "layers/average_pooling2d.h"
#include "layers/pooling3d.h"

namespace dptrain::layers {
namespace {

const Registered kAveragePooling3D = pooling3d<AveragePooling3DSpec>("AveragePooling3D");
const ComputedInPasses kAveragePooling3DPasses(pooling_passes<AveragePooling3DSpec, AveragePooling2DSpec>);

}  // namespace
}  // namespace dptrain::layers
