#include "layers/flatten.h"

#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kFlatten = layer<FlattenSpec>("Flatten").inputs(1).view().output(
    [](const FlattenSpec&, std::span<const Shape> in) { return Shape{in[0].elements()}; });

}  // namespace
}  // namespace dptrain::layers
