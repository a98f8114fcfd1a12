#include "layers/elu.h"

#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kELU =
    layer<ELUSpec>("ELU")
        .positional(key("alpha", &ELUSpec::alpha).at_least(0))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output([](const ELUSpec&, std::span<const Shape> in) { return in[0]; })
        .backward_reads(BackwardReads{.output = true})  // alpha is not negative: signs of input and output agree
        .keras([](const ELUSpec& spec, std::span<const Shape>) {
          return keras_object({{"alpha", keras_real(spec.alpha)}});
        });

}  // namespace
}  // namespace dptrain::layers
