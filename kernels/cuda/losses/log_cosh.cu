#include "kernels/losses/log_cosh.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::LogCosh&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
