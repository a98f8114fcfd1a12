#include "layers/average_pooling1d.h"

#include "layers/average_pooling2d.h"
#include "layers/pooling1d.h"

namespace dptrain::layers {
namespace {

const Registered kAveragePooling1D = pooling1d<AveragePooling1DSpec, AveragePooling2DSpec>("AveragePooling1D");

}  // namespace
}  // namespace dptrain::layers
