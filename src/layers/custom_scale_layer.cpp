#include "layers/custom_scale_layer.h"

#include "layers/layer.h"
#include "layers/merge.h"

namespace dptrain::layers {
namespace {

const Registered kCustomScaleLayer = layer<CustomScaleLayerSpec>("CustomScaleLayer")
                                         .positional(key("scale", &CustomScaleLayerSpec::scale).required())
                                         .inputs(2)
                                         .output([](const CustomScaleLayerSpec&, std::span<const Shape> in) {
                                           if (in[0] != in[1]) throw LayerError(inputs_differ(in));
                                           return in[0];
                                         });

}  // namespace
}  // namespace dptrain::layers
