#include "formats/keras/keras_layer.h"
#include "nn/dropout.h"

namespace dptrain::formats::keras {
namespace {

const RegisteredLayer kDropout = layer<nn::DropoutSpec>().unset({"seed"});

const RegisteredLayer kSpatialDropout1D = layer<nn::SpatialDropout1DSpec>().without_trainable();

const RegisteredLayer kSpatialDropout2D =
    layer<nn::SpatialDropout2DSpec>().last("data_format", channels_last()).without_trainable();

const RegisteredLayer kSpatialDropout3D =
    layer<nn::SpatialDropout3DSpec>().last("data_format", channels_last()).without_trainable();

/// A class of keras.applications: load_model() needs it in custom_objects.
const RegisteredLayer kStochasticDepth =
    layer<nn::StochasticDepthSpec>().custom_objects("scripts/interop/applications.py");

}  // namespace
}  // namespace dptrain::formats::keras
