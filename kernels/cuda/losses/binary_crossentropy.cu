#include "kernels/losses/binary_crossentropy.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::Binary&);
template void element_loss(const Launch&, const LossRows&, const losses::BinaryFromLogits&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
