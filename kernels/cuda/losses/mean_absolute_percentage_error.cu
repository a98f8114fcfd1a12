#include "kernels/losses/mean_absolute_percentage_error.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::AbsolutePercentage&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
