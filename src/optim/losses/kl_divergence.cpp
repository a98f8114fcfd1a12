#include "optim/losses/kl_divergence.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kKLDivergence = loss<KLDivergenceSpec>("KLDivergence", "kl_divergence").aliases({"kld", "KLD"});

}  // namespace
}  // namespace dptrain::optim
