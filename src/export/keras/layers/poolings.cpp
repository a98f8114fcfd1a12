// `strides` are there even where they equal `pool_size`.

#include "export/keras/keras_layer.h"
#include "layers/average_pooling1d.h"
#include "layers/average_pooling2d.h"
#include "layers/average_pooling3d.h"
#include "layers/global_average_pooling1d.h"
#include "layers/global_average_pooling2d.h"
#include "layers/global_average_pooling3d.h"
#include "layers/global_max_pooling1d.h"
#include "layers/global_max_pooling2d.h"
#include "layers/global_max_pooling3d.h"
#include "layers/max_pooling1d.h"
#include "layers/max_pooling2d.h"
#include "layers/max_pooling3d.h"

namespace dptrain::exporting::keras {
namespace {

template <class Spec>
LayerBuilder<Spec> pooling() {
  return layer<Spec>()
      .writes("strides", [](const Spec& spec) { return size(spec.strides.value_or(spec.pool_size)); })
      .last("data_format", channels_last());
}

const RegisteredLayer kMaxPooling1D = pooling<layers::MaxPooling1DSpec>();
const RegisteredLayer kMaxPooling2D = pooling<layers::MaxPooling2DSpec>();
const RegisteredLayer kMaxPooling3D = pooling<layers::MaxPooling3DSpec>();
const RegisteredLayer kAveragePooling1D = pooling<layers::AveragePooling1DSpec>();
const RegisteredLayer kAveragePooling2D = pooling<layers::AveragePooling2DSpec>();
const RegisteredLayer kAveragePooling3D = pooling<layers::AveragePooling3DSpec>();

const RegisteredLayer kGlobalAveragePooling1D =
    layer<layers::GlobalAveragePooling1DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalAveragePooling2D =
    layer<layers::GlobalAveragePooling2DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalAveragePooling3D =
    layer<layers::GlobalAveragePooling3DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalMaxPooling1D =
    layer<layers::GlobalMaxPooling1DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalMaxPooling2D =
    layer<layers::GlobalMaxPooling2DSpec>().first("data_format", channels_last());

const RegisteredLayer kGlobalMaxPooling3D =
    layer<layers::GlobalMaxPooling3DSpec>().first("data_format", channels_last());

}  // namespace
}  // namespace dptrain::exporting::keras
