#include "kernels/losses/dice.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void sums_loss(const Launch&, const LossRows&, std::int64_t, const losses::Dice&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
