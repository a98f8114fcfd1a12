#include "nn/max_pooling3d.h"

#include "nn/max_pooling2d.h"
#include "nn/pooling3d.h"

namespace dptrain::nn {
namespace {

const Registered kMaxPooling3D = pooling3d<MaxPooling3DSpec>("MaxPooling3D");
const ComputedInPasses kMaxPooling3DPasses(pooling_passes<MaxPooling3DSpec, MaxPooling2DSpec>);

}  // namespace
}  // namespace dptrain::nn
