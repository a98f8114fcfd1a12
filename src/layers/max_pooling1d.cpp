#include "layers/max_pooling1d.h"

#include "layers/max_pooling2d.h"
#include "layers/pooling1d.h"

namespace dptrain::layers {
namespace {

const Registered kMaxPooling1D = pooling1d<MaxPooling1DSpec, MaxPooling2DSpec>("MaxPooling1D");

}  // namespace
}  // namespace dptrain::layers
