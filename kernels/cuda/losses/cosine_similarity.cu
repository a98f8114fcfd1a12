#include "kernels/losses/cosine_similarity.h"

#include "kernels/cuda/loss_passes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template void sums_loss(const Launch&, const LossRows&, std::int64_t, const losses::Cosine&);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
