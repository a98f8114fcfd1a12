#include "kernels/losses/huber.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::Huber&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
