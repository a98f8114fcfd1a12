// Layers that do something in training alone: none of them leaves a node.

#include "formats/onnx/onnx_layer.h"
#include "nn/dropout.h"

namespace dptrain::formats::onnx {
namespace {

template <class Spec>
FormBuilder<Spec> nothing() {
  return form<Spec>([](const Spec&, Call& call) { return call.x(); });
}

const RegisteredForm kDropout = nothing<nn::DropoutSpec>();
const RegisteredForm kSpatialDropout1D = nothing<nn::SpatialDropout1DSpec>();
const RegisteredForm kSpatialDropout2D = nothing<nn::SpatialDropout2DSpec>();
const RegisteredForm kSpatialDropout3D = nothing<nn::SpatialDropout3DSpec>();
const RegisteredForm kGaussianDropout = nothing<nn::GaussianDropoutSpec>();
const RegisteredForm kGaussianNoise = nothing<nn::GaussianNoiseSpec>();
const RegisteredForm kStochasticDepth = nothing<nn::StochasticDepthSpec>();

}  // namespace
}  // namespace dptrain::formats::onnx
