#include "layers/max_pooling2d.h"

#include "layers/pooling.h"

namespace dptrain::layers {
namespace {

const Registered kMaxPooling2D = pooling<MaxPooling2DSpec>("MaxPooling2D");

}  // namespace
}  // namespace dptrain::layers
