// `strides` are there even where they equal `pool_size`.

#include "formats/keras/keras_layer.h"
#include "nn/pooling.h"

namespace dptrain::formats::keras {
namespace {

template <class Spec>
LayerBuilder<Spec> pooling() {
  return layer<Spec>()
      .writes("strides", [](const Spec& spec) { return size(spec.strides.value_or(spec.pool_size)); })
      .last("data_format", channels_last());
}

const RegisteredLayer kMaxPooling1D = pooling<nn::MaxPooling1DSpec>();
const RegisteredLayer kMaxPooling2D = pooling<nn::MaxPooling2DSpec>();
const RegisteredLayer kMaxPooling3D = pooling<nn::MaxPooling3DSpec>();
const RegisteredLayer kAveragePooling1D = pooling<nn::AveragePooling1DSpec>();
const RegisteredLayer kAveragePooling2D = pooling<nn::AveragePooling2DSpec>();
const RegisteredLayer kAveragePooling3D = pooling<nn::AveragePooling3DSpec>();

const RegisteredLayer kGlobalAveragePooling1D =
    layer<nn::GlobalAveragePooling1DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalAveragePooling2D =
    layer<nn::GlobalAveragePooling2DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalAveragePooling3D =
    layer<nn::GlobalAveragePooling3DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalMaxPooling1D = layer<nn::GlobalMaxPooling1DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalMaxPooling2D = layer<nn::GlobalMaxPooling2DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalMaxPooling3D = layer<nn::GlobalMaxPooling3DSpec>().first("data_format", channels_last());

}  // namespace
}  // namespace dptrain::formats::keras
