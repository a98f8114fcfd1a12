#include "nn/losses/kl_divergence.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kKLDivergence = loss<KLDivergenceSpec>("KLDivergence", "kl_divergence").aliases({"kld", "KLD"});

}  // namespace
}  // namespace dptrain::nn
