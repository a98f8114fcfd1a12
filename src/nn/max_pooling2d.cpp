#include "nn/max_pooling2d.h"

#include "nn/pooling.h"

namespace dptrain::nn {
namespace {

const Registered kMaxPooling2D = pooling<MaxPooling2DSpec>("MaxPooling2D");

}  // namespace
}  // namespace dptrain::nn
