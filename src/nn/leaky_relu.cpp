#include "nn/leaky_relu.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kLeakyReLU =
    layer<LeakyReLUSpec>("LeakyReLU")
        .positional(key("negative_slope", &LeakyReLUSpec::negative_slope).alias("alpha").at_least(0))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output([](const LeakyReLUSpec&, std::span<const Shape> in) { return in[0]; })
        .backward_reads(BackwardReads{.output = true});  // the slope is not negative: signs of input and output agree

}  // namespace
}  // namespace dptrain::nn
