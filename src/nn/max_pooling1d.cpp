#include "nn/max_pooling1d.h"

#include "nn/max_pooling2d.h"
#include "nn/pooling1d.h"

namespace dptrain::nn {
namespace {

const Registered kMaxPooling1D = pooling1d<MaxPooling1DSpec, MaxPooling2DSpec>("MaxPooling1D");

}  // namespace
}  // namespace dptrain::nn
