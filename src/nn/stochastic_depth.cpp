#include "nn/stochastic_depth.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kStochasticDepth =
    layer<StochasticDepthSpec>("StochasticDepth")
        .positional(key("drop_path_rate", &StochasticDepthSpec::drop_path_rate).required().at_least(0).below(1))
        .inputs(1)
        .random()
        .output([](const StochasticDepthSpec&, std::span<const Shape> in) { return in[0]; });

}  // namespace
}  // namespace dptrain::nn
