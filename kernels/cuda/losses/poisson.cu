#include "kernels/losses/poisson.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_GPU {

template void element_loss(const Launch&, const LossRows&, const losses::Poisson&);

}  // namespace dptrain::kernels::DPTRAIN_GPU
