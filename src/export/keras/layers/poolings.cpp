// `strides` are there even where they equal `pool_size`.

#include "export/keras/keras_layer.h"
#include "layers/average_pooling2d.h"
#include "layers/global_average_pooling1d.h"
#include "layers/global_average_pooling2d.h"
#include "layers/global_max_pooling2d.h"
#include "layers/max_pooling2d.h"

namespace dptrain::exporting::keras {
namespace {

template <class Spec>
config::Node pooling_strides(const Spec& spec) {
  return size(spec.strides.value_or(spec.pool_size));
}

const RegisteredLayer kMaxPooling2D = layer<layers::MaxPooling2DSpec>()
                                          .writes("strides", pooling_strides<layers::MaxPooling2DSpec>)
                                          .last("data_format", channels_last());

const RegisteredLayer kAveragePooling2D = layer<layers::AveragePooling2DSpec>()
                                              .writes("strides", pooling_strides<layers::AveragePooling2DSpec>)
                                              .last("data_format", channels_last());

const RegisteredLayer kGlobalAveragePooling1D =
    layer<layers::GlobalAveragePooling1DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalAveragePooling2D =
    layer<layers::GlobalAveragePooling2DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalMaxPooling2D =
    layer<layers::GlobalMaxPooling2DSpec>().first("data_format", channels_last());

}  // namespace
}  // namespace dptrain::exporting::keras
