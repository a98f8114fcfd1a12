#include "nn/average_pooling1d.h"

#include "nn/average_pooling2d.h"
#include "nn/pooling1d.h"

namespace dptrain::nn {
namespace {

const Registered kAveragePooling1D = pooling1d<AveragePooling1DSpec, AveragePooling2DSpec>("AveragePooling1D");

}  // namespace
}  // namespace dptrain::nn
