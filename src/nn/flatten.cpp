#include "nn/flatten.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kFlatten = layer<FlattenSpec>("Flatten").inputs(1).view().output(
    [](const FlattenSpec&, std::span<const Shape> in) { return Shape{in[0].elements()}; });

}  // namespace
}  // namespace dptrain::nn
