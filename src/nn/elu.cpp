#include "nn/elu.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kELU =
    layer<ELUSpec>("ELU")
        .positional(key("alpha", &ELUSpec::alpha).at_least(0))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output([](const ELUSpec&, std::span<const Shape> in) { return in[0]; })
        .backward_reads(BackwardReads{.output = true});  // alpha is not negative: signs of input and output agree

}  // namespace
}  // namespace dptrain::nn
