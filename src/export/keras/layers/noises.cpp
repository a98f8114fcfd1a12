#include "export/keras/keras_layer.h"
#include "layers/dropout.h"
#include "layers/spatial_dropout1d.h"
#include "layers/spatial_dropout2d.h"
#include "layers/spatial_dropout3d.h"
#include "layers/stochastic_depth.h"

namespace dptrain::exporting::keras {
namespace {

const RegisteredLayer kDropout = layer<layers::DropoutSpec>().unset({"seed"});

const RegisteredLayer kSpatialDropout1D = layer<layers::SpatialDropout1DSpec>().without_trainable();

const RegisteredLayer kSpatialDropout2D =
    layer<layers::SpatialDropout2DSpec>().last("data_format", channels_last()).without_trainable();

const RegisteredLayer kSpatialDropout3D =
    layer<layers::SpatialDropout3DSpec>().last("data_format", channels_last()).without_trainable();

/// Of keras.applications: load_model() wants to be told where it is.
const RegisteredLayer kStochasticDepth =
    layer<layers::StochasticDepthSpec>().custom_objects("scripts/interop/applications.py");

}  // namespace
}  // namespace dptrain::exporting::keras
