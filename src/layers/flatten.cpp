#include "layers/flatten.h"

#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kFlatten =
    layer<FlattenSpec>("Flatten")
        .inputs(1)
        .view()
        .output([](const FlattenSpec&, std::span<const Shape> in) { return Shape{in[0].elements()}; })
        .keras([](const FlattenSpec&, std::span<const Shape>) {
          return keras_object({{"data_format", keras_channels_last()}});
        });

}  // namespace
}  // namespace dptrain::layers
