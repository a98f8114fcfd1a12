#include "nn/losses/categorical_focal_crossentropy.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

using FocalSpec = CategoricalFocalCrossentropySpec;

const RegisteredLoss kCategoricalFocalCrossentropy =
    loss<FocalSpec>("CategoricalFocalCrossentropy", "categorical_focal_crossentropy")
        .key(key("alpha", &FocalSpec::alpha).at_least(0))
        .key(key("gamma", &FocalSpec::gamma).at_least(0))
        .reads(Reads::kClasses)
        .shares_of_one()
        .logits(&FocalSpec::from_logits)
        .key(key("label_smoothing", &FocalSpec::label_smoothing).at_least(0).at_most(1));

}  // namespace
}  // namespace dptrain::nn
