#include "nn/losses/sparse_categorical_crossentropy.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kSparseCategoricalCrossentropy =
    loss<SparseCategoricalCrossentropySpec>("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy")
        .reads(Reads::kClasses)
        .only_class_numbers()
        .shares_of_one()
        .logits(&SparseCategoricalCrossentropySpec::from_logits);

}  // namespace
}  // namespace dptrain::nn
