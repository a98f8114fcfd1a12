#include "kernels/losses/categorical_focal_crossentropy.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void class_loss(const Launch&, const LossRows&, bool, const losses::CategoricalFocal&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
