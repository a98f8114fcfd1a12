#include "layers/average_pooling2d.h"

#include "layers/pooling.h"

namespace dptrain::layers {
namespace {

const Registered kAveragePooling2D = pooling<AveragePooling2DSpec>("AveragePooling2D");

}  // namespace
}  // namespace dptrain::layers
