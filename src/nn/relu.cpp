#include "nn/relu.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kReLU = layer<ReLUSpec>("ReLU")
                             .positional(key("max_value", &ReLUSpec::max_value).at_least(0))
                             .key(key("negative_slope", &ReLUSpec::negative_slope).at_least(0))
                             .key(key("threshold", &ReLUSpec::threshold).at_least(0))
                             .inputs(1)
                             .masks(MaskRule::kPasses)
                             .output([](const ReLUSpec&, std::span<const Shape> in) { return in[0]; })
                             .backward_reads(BackwardReads{
                                 .input = true});  // with a threshold the output does not say where the input stood

}  // namespace
}  // namespace dptrain::nn
