#include "kernels/losses/mean_absolute_error.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::Absolute&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
