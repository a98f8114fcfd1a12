// Layers that move, cut and repeat.

#include "formats/keras/keras_layer.h"
#include "nn/reshaping.h"
#include "nn/resizing.h"

namespace dptrain::formats::keras {
namespace {

const RegisteredLayer kFlatten = layer<nn::FlattenSpec>().last("data_format", channels_last());

const RegisteredLayer kCropping2D = layer<nn::Cropping2DSpec>().last("data_format", channels_last());

const RegisteredLayer kZeroPadding2D = layer<nn::ZeroPadding2DSpec>().last("data_format", channels_last());

const RegisteredLayer kCropping3D = layer<nn::Cropping3DSpec>().last("data_format", channels_last());

const RegisteredLayer kZeroPadding3D = layer<nn::ZeroPadding3DSpec>().last("data_format", channels_last());

const RegisteredLayer kUpSampling3D = layer<nn::UpSampling3DSpec>().last("data_format", channels_last());

const RegisteredLayer kUpSampling2D = layer<nn::UpSampling2DSpec>().behind("size", "data_format", channels_last());

}  // namespace
}  // namespace dptrain::formats::keras
