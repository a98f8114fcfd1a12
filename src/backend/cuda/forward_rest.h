#pragma once

// ReLU, and where no engine takes it the bias, of a forward convolution as steps of their own.

#include <cstdint>

#include "backend/gpu/convolution.h"

namespace dptrain::backend::cuda {

/// Bytes of workspace that add_bias_and_relu needs.
std::uint64_t forward_rest_workspace(const gpu::ConvProblem& problem, bool bias);

/// y = relu(y + bias), the ReLU where the problem has one, the bias where `bias` says that it is still to do; queued on
/// the stream. bias_values [K] in the problem's type; the workspace is aligned to 16 bytes.
void add_bias_and_relu(const gpu::ConvProblem& problem, bool bias, const void* bias_values, void* y, void* workspace,
                       int multiprocessors, gpu::StreamHandle stream);

}  // namespace dptrain::backend::cuda
