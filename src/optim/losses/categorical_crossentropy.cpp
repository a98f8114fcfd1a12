#include "optim/losses/categorical_crossentropy.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

using Spec = CategoricalCrossentropySpec;

const RegisteredLoss kCategoricalCrossentropy =
    loss<Spec>("CategoricalCrossentropy", "categorical_crossentropy")
        .reads(Reads::kClasses)
        .shares_of_one()
        .logits(&Spec::from_logits)
        .key(key("label_smoothing", &Spec::label_smoothing).at_least(0).at_most(1));

}  // namespace
}  // namespace dptrain::optim
