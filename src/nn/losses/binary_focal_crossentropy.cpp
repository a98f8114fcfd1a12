#include "nn/losses/binary_focal_crossentropy.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

using BinaryFocalSpec = BinaryFocalCrossentropySpec;

const RegisteredLoss kBinaryFocalCrossentropy =
    loss<BinaryFocalSpec>("BinaryFocalCrossentropy", "binary_focal_crossentropy")
        .key(key("apply_class_balancing", &BinaryFocalSpec::apply_class_balancing))
        .key(key("alpha", &BinaryFocalSpec::alpha).at_least(0).at_most(1))
        .key(key("gamma", &BinaryFocalSpec::gamma).at_least(0))
        .reads(Reads::kProbabilities)
        .shares_of_one()
        .logits(&BinaryFocalSpec::from_logits)
        .key(key("label_smoothing", &BinaryFocalSpec::label_smoothing).at_least(0).at_most(1));

}  // namespace
}  // namespace dptrain::nn
