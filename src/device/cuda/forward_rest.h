#pragma once

// Bias and ReLU of a forward convolution as steps of their own, for graphs that no engine takes in one.

#include <cstdint>

#include "device/gpu/convolution.h"

namespace dptrain::device::cuda {

/// Bytes of workspace that add_bias_and_relu needs.
std::uint64_t forward_rest_workspace(const gpu::ConvProblem& problem, bool bias);

/// y = relu(y + bias), of which `bias` and `relu` say what is still to do; queued on the stream. bias [K] in the problem's
/// type; the workspace is aligned to 16 bytes.
void add_bias_and_relu(const gpu::ConvProblem& problem, bool bias, bool relu, const void* bias_values, void* y,
                       void* workspace, int multiprocessors, gpu::StreamHandle stream);

}  // namespace dptrain::device::cuda
