#include "optim/losses/hinge.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kHinge = loss<HingeSpec>("Hinge", "hinge");

}  // namespace
}  // namespace dptrain::optim
