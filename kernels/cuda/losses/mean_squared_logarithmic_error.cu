#include "kernels/losses/mean_squared_logarithmic_error.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::SquaredLogarithmic&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
