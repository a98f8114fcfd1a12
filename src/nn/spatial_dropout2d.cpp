#include "nn/spatial_dropout2d.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kSpatialDropout2D =
    layer<SpatialDropout2DSpec>("SpatialDropout2D")
        .positional(key("rate", &SpatialDropout2DSpec::rate).required().at_least(0).below(1))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .of_rank(3)
        .random()
        .output([](const SpatialDropout2DSpec&, std::span<const Shape> in) { return in[0]; });

}  // namespace
}  // namespace dptrain::nn
