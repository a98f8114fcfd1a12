#include "nn/spatial_dropout3d.h"

#include "nn/layer.h"
#include "nn/spatial_dropout2d.h"

namespace dptrain::nn {
namespace {

const Registered kSpatialDropout3D =
    layer<SpatialDropout3DSpec>("SpatialDropout3D")
        .positional(key("rate", &SpatialDropout3DSpec::rate).required().at_least(0).below(1))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .of_rank(4)
        .random()
        .output([](const SpatialDropout3DSpec&, std::span<const Shape> in) { return in[0]; })
        .computed_as(+[](const SpatialDropout3DSpec& spec) { return SpatialDropout2DSpec{spec.rate}; });

}  // namespace
}  // namespace dptrain::nn
