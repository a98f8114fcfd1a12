#include "nn/spatial_dropout1d.h"

#include "nn/layer.h"
#include "nn/spatial_dropout2d.h"

namespace dptrain::nn {
namespace {

const Registered kSpatialDropout1D =
    layer<SpatialDropout1DSpec>("SpatialDropout1D")
        .positional(key("rate", &SpatialDropout1DSpec::rate).required().at_least(0).below(1))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .of_rank(2)
        .random()
        .output([](const SpatialDropout1DSpec&, std::span<const Shape> in) { return in[0]; })
        .computed_as(+[](const SpatialDropout1DSpec& spec) { return SpatialDropout2DSpec{spec.rate}; });

}  // namespace
}  // namespace dptrain::nn
