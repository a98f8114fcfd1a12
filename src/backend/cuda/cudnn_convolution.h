#pragma once

// gpu::Convolution with cuDNN, one engine per pass. If no engine fits, the error gives the reason for each.

#include <memory>
#include <string_view>

#include "backend/gpu/convolution.h"

namespace dptrain::backend::cuda {

/// Convolutions for GPU `id`, which `runtime` belongs to. Any thread that has entered the device may create them; the
/// replica's thread uses them. Throws Error{kDevice} if cuDNN cannot be opened or started.
std::unique_ptr<gpu::ConvolutionMaker> make_cudnn_convolutions(std::shared_ptr<gpu::Runtime> runtime, int id,
                                                               const gpu::ConvOptions& options);

/// Convolutions planned for the GPU that `device_json` describes (plan_only_gpus.h). They have its engines and
/// workspaces but cannot run, and need no GPU. Autotune has no effect. Throws Error{kDevice} if cuDNN cannot be opened.
std::unique_ptr<gpu::ConvolutionMaker> plan_cudnn_convolutions(std::string_view device_json,
                                                               const gpu::ConvOptions& options);

}  // namespace dptrain::backend::cuda
