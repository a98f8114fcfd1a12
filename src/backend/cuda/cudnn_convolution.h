#pragma once

// Convolutions by cuDNN, behind the interface of the GPU device. A convolution's passes each get an engine of their own
// when it is made; where one cannot be had, the message says of every engine why not.

#include <memory>
#include <string_view>

#include "backend/gpu/convolution.h"

namespace dptrain::backend::cuda {

/// Convolutions that run on GPU `id`, whose runtime this is; made by any threads that have entered the device, used by
/// the replica's. Throws Error{kDevice} where cuDNN cannot be opened or started.
std::unique_ptr<gpu::ConvolutionMaker> make_cudnn_convolutions(std::shared_ptr<gpu::Runtime> runtime, int id,
                                                               const gpu::ConvOptions& options);

/// Convolutions planned for the GPU that the text describes (paper_gpus.h): engines and workspaces are those that it
/// would have, and needing no GPU they cannot run. Autotune counts for nothing here. Throws Error{kDevice} where cuDNN
/// cannot be opened.
std::unique_ptr<gpu::ConvolutionMaker> plan_cudnn_convolutions(std::string_view device_json,
                                                               const gpu::ConvOptions& options);

}  // namespace dptrain::backend::cuda
