#include "nn/losses/categorical_crossentropy.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kCategoricalCrossentropy =
    loss<CategoricalCrossentropySpec>("CategoricalCrossentropy", "categorical_crossentropy")
        .reads(Reads::kClasses)
        .shares_of_one()
        .logits(&CategoricalCrossentropySpec::from_logits)
        .key(key("label_smoothing", &CategoricalCrossentropySpec::label_smoothing).at_least(0).at_most(1));

}  // namespace
}  // namespace dptrain::nn
