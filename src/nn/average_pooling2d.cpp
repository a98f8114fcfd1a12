#include "nn/average_pooling2d.h"

#include "nn/pooling.h"

namespace dptrain::nn {
namespace {

const Registered kAveragePooling2D = pooling<AveragePooling2DSpec>("AveragePooling2D");

}  // namespace
}  // namespace dptrain::nn
