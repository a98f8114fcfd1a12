#include "optim/losses/poisson.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kPoisson = loss<PoissonSpec>("Poisson", "poisson");

}  // namespace
}  // namespace dptrain::optim
