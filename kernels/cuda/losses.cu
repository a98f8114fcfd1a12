// Instances of the passes of loss_passes.h for the losses of kernels/losses.h.

#include "kernels/losses.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

#define DPTRAIN_INSTANTIATE(F) template void element_loss(const Launch&, DType, const LossRows&, const losses::F&);
DPTRAIN_ELEMENT_LOSSES(DPTRAIN_INSTANTIATE)
DPTRAIN_INSTANTIATE(BinaryCrossentropy)
DPTRAIN_INSTANTIATE(BinaryCrossentropyFromLogits)
DPTRAIN_INSTANTIATE(BinaryFocalCrossentropy)
DPTRAIN_INSTANTIATE(BinaryFocalCrossentropyFromLogits)
#undef DPTRAIN_INSTANTIATE

template void class_loss(const Launch&, DType, const LossRows&, bool, const losses::CategoricalFocalCrossentropy&);

#define DPTRAIN_INSTANTIATE(F) \
  template void sums_loss(const Launch&, DType, const LossRows&, std::int64_t, const losses::F&);
DPTRAIN_SUMS_LOSSES(DPTRAIN_INSTANTIATE)
DPTRAIN_INSTANTIATE(CosineSimilarity)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
