#include "nn/gaussian_dropout.h"

#include <cmath>

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGaussianDropout =
    layer<GaussianDropoutSpec>("GaussianDropout")
        .positional(key("rate", &GaussianDropoutSpec::rate).required().at_least(0).below(1))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .random()
        .output([](const GaussianDropoutSpec&, std::span<const Shape> in) { return in[0]; });

}  // namespace

float deviation(const GaussianDropoutSpec& spec) {
  const double rate = static_cast<double>(spec.rate);
  return static_cast<float>(std::sqrt(rate / (1 - rate)));
}

}  // namespace dptrain::nn
