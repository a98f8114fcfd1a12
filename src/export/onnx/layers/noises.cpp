// Layers that do something in training alone: none of them leaves a node.

#include "export/onnx/onnx_layer.h"
#include "layers/dropout.h"
#include "layers/gaussian_dropout.h"
#include "layers/gaussian_noise.h"
#include "layers/spatial_dropout1d.h"
#include "layers/spatial_dropout2d.h"
#include "layers/spatial_dropout3d.h"
#include "layers/stochastic_depth.h"

namespace dptrain::exporting::onnx {
namespace {

template <class Spec>
FormBuilder<Spec> nothing() {
  return form<Spec>([](const Spec&, Call& call) { return call.x(); });
}

const RegisteredForm kDropout = nothing<layers::DropoutSpec>();
const RegisteredForm kSpatialDropout1D = nothing<layers::SpatialDropout1DSpec>();
const RegisteredForm kSpatialDropout2D = nothing<layers::SpatialDropout2DSpec>();
const RegisteredForm kSpatialDropout3D = nothing<layers::SpatialDropout3DSpec>();
const RegisteredForm kGaussianDropout = nothing<layers::GaussianDropoutSpec>();
const RegisteredForm kGaussianNoise = nothing<layers::GaussianNoiseSpec>();
const RegisteredForm kStochasticDepth = nothing<layers::StochasticDepthSpec>();

}  // namespace
}  // namespace dptrain::exporting::onnx
