#include "layers/dropout.h"

#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kDropout = layer<DropoutSpec>("Dropout")
                                .positional(key("rate", &DropoutSpec::rate).required().at_least(0).below(1))
                                .inputs(1)
                                .masks(MaskRule::kPasses)
                                .random()
                                .output([](const DropoutSpec&, std::span<const Shape> in) { return in[0]; });

}  // namespace
}  // namespace dptrain::layers
