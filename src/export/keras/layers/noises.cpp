#include "export/keras/keras_layer.h"
#include "layers/dropout.h"
#include "layers/spatial_dropout1d.h"
#include "layers/spatial_dropout2d.h"
#include "layers/spatial_dropout3d.h"

namespace dptrain::exporting::keras {
namespace {

const RegisteredLayer kDropout = layer<layers::DropoutSpec>().unset({"seed"});

const RegisteredLayer kSpatialDropout1D = layer<layers::SpatialDropout1DSpec>().without_trainable();

const RegisteredLayer kSpatialDropout2D =
    layer<layers::SpatialDropout2DSpec>().last("data_format", channels_last()).without_trainable();

const RegisteredLayer kSpatialDropout3D =
    layer<layers::SpatialDropout3DSpec>().last("data_format", channels_last()).without_trainable();

}  // namespace
}  // namespace dptrain::exporting::keras
