#include "nn/gaussian_noise.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGaussianNoise =
    layer<GaussianNoiseSpec>("GaussianNoise")
        .positional(key("stddev", &GaussianNoiseSpec::stddev).required().at_least(0).at_most(1))  // Keras 3's range
        .inputs(1)
        .masks(MaskRule::kPasses)
        .random()
        .output([](const GaussianNoiseSpec&, std::span<const Shape> in) { return in[0]; });

}  // namespace
}  // namespace dptrain::nn
