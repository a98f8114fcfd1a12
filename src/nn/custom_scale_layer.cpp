#include "nn/custom_scale_layer.h"

#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

const Registered kCustomScaleLayer = layer<CustomScaleLayerSpec>("CustomScaleLayer")
                                         .positional(key("scale", &CustomScaleLayerSpec::scale).required())
                                         .inputs(2)
                                         .output([](const CustomScaleLayerSpec&, std::span<const Shape> in) {
                                           if (in[0] != in[1]) throw LayerError(inputs_differ(in));
                                           return in[0];
                                         });

}  // namespace
}  // namespace dptrain::nn
