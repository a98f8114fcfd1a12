#include "optim/losses/categorical_hinge.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kCategoricalHinge = loss<CategoricalHingeSpec>("CategoricalHinge", "categorical_hinge");

}  // namespace
}  // namespace dptrain::optim
