#include "nn/losses/binary_crossentropy.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kBinaryCrossentropy =
    loss<BinaryCrossentropySpec>("BinaryCrossentropy", "binary_crossentropy")
        .aliases({"bce", "BCE"})
        .reads(Reads::kProbabilities)
        .shares_of_one()
        .logits(&BinaryCrossentropySpec::from_logits)
        .key(key("label_smoothing", &BinaryCrossentropySpec::label_smoothing).at_least(0).at_most(1));

}  // namespace
}  // namespace dptrain::nn
