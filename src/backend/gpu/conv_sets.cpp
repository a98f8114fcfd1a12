#include "backend/gpu/conv_sets.h"

#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

void differentiate_filter(const kernel::Launch& at, const gpu::ConvProblem& sample, gpu::Convolution& convolution,
                          const void* x, const void* dy, void* rounded, void* workspace, float* gradient) {
  if (sample.type == DType::kF32) return convolution.backward_weights(x, dy, gradient, workspace, at.stream);
  convolution.backward_weights(x, dy, rounded, workspace, at.stream);
  kernel::cast_to_float(at, sample.type, rounded, gradient, sample.weights());
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
