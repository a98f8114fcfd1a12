#include "nn/activation_layer.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kActivation =
    layer<ActivationSpec>("Activation")
        .positional(key("activation", &ActivationSpec::activation).required())
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output([](const ActivationSpec&, std::span<const Shape> in) { return in[0]; })
        .backward_reads([](const ActivationSpec& spec) {
          const bool from_output = backward_from_output(spec.activation);
          return BackwardReads{.input = !from_output, .output = from_output && spec.activation != Activation::kLinear};
        });

}  // namespace
}  // namespace dptrain::nn
