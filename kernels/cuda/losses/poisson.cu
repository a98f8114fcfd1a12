#include "kernels/losses/poisson.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::Poisson&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
