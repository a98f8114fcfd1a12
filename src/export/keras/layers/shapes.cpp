// Layers that move, cut and repeat.

#include "export/keras/keras_layer.h"
#include "layers/cropping2d.h"
#include "layers/cropping3d.h"
#include "layers/flatten.h"
#include "layers/up_sampling2d.h"
#include "layers/up_sampling3d.h"
#include "layers/zero_padding2d.h"
#include "layers/zero_padding3d.h"

namespace dptrain::exporting::keras {
namespace {

const RegisteredLayer kFlatten = layer<layers::FlattenSpec>().last("data_format", channels_last());

const RegisteredLayer kCropping2D = layer<layers::Cropping2DSpec>().last("data_format", channels_last());

const RegisteredLayer kZeroPadding2D = layer<layers::ZeroPadding2DSpec>().last("data_format", channels_last());

const RegisteredLayer kCropping3D = layer<layers::Cropping3DSpec>().last("data_format", channels_last());

const RegisteredLayer kZeroPadding3D = layer<layers::ZeroPadding3DSpec>().last("data_format", channels_last());

const RegisteredLayer kUpSampling3D = layer<layers::UpSampling3DSpec>().last("data_format", channels_last());

const RegisteredLayer kUpSampling2D = layer<layers::UpSampling2DSpec>().behind("size", "data_format", channels_last());

}  // namespace
}  // namespace dptrain::exporting::keras
