#include "nn/losses/categorical_hinge.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kCategoricalHinge = loss<CategoricalHingeSpec>("CategoricalHinge", "categorical_hinge");

}  // namespace
}  // namespace dptrain::nn
