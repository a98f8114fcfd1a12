#include "kernels/losses/binary_focal_crossentropy.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void element_loss(const Launch&, const LossRows&, const losses::BinaryFocal&);
template void element_loss(const Launch&, const LossRows&, const losses::BinaryFocalFromLogits&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
