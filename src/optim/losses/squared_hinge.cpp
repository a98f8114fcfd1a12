#include "optim/losses/squared_hinge.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kSquaredHinge = loss<SquaredHingeSpec>("SquaredHinge", "squared_hinge");

}  // namespace
}  // namespace dptrain::optim
