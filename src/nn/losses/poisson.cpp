#include "nn/losses/poisson.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kPoisson = loss<PoissonSpec>("Poisson", "poisson");

}  // namespace
}  // namespace dptrain::nn
