#include "layers/average_pooling2d.h"

#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kAveragePooling2D =
    layer<AveragePooling2DSpec>("AveragePooling2D")
        .positional(key("pool_size", &AveragePooling2DSpec::pool_size).at_least(1).check(Bounded{}))
        .key(key("strides", &AveragePooling2DSpec::strides).at_least(1).check(Bounded{}))
        .key(key("padding", &AveragePooling2DSpec::padding))
        .inputs(1)
        .of_rank(3)
        .output([](const AveragePooling2DSpec& spec, std::span<const Shape> in) {
          return pooled(in[0], spec.pool_size, spec.strides.value_or(spec.pool_size), spec.padding);
        })
        .keras([](const AveragePooling2DSpec& spec, std::span<const Shape>) {
          return keras_object({{"pool_size", keras_size(spec.pool_size)},
                               {"strides", keras_size(spec.strides.value_or(spec.pool_size))},
                               {"padding", keras_padding(spec.padding)},
                               {"data_format", keras_channels_last()}});
        });

}  // namespace
}  // namespace dptrain::layers
