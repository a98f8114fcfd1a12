#include "backend/cuda/forward_rest.h"

#include "kernels/cuda/activation.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::cuda {

namespace kernel = kernels::DPTRAIN_BACKEND;

std::uint64_t forward_rest_workspace(const gpu::ConvProblem& problem, bool bias) {
  return bias && problem.type != DType::kF32 ? static_cast<std::uint64_t>(problem.out_channels) * sizeof(float) : 0;
}

void add_bias_and_relu(const gpu::ConvProblem& problem, bool bias, const void* bias_values, void* y, void* workspace,
                       int multiprocessors, gpu::StreamHandle stream) {
  const kernel::Launch at{stream, multiprocessors};
  const std::int64_t points = problem.rows * problem.out_h * problem.out_w;
  if (bias) {
    const auto* values = static_cast<const float*>(bias_values);
    if (problem.type != DType::kF32) {
      kernel::cast_to_float(at, problem.type, bias_values, static_cast<float*>(workspace), problem.out_channels);
      values = static_cast<const float*>(workspace);
    }
    kernel::bias_add(at, problem.type, y, values, points, problem.out_channels, y);
  }
  if (problem.relu)
    kernel::activation_forward(at, problem.type, kernel::Activation::kRelu, 0, y, y, points * problem.out_channels);
}

}  // namespace dptrain::backend::cuda
