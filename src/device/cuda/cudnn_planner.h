#pragma once

// Finds the engine of each pass of a convolution. One per ConvolutionMaker, on its thread.

#include <optional>

#include "device/cuda/cudnn_pass.h"
#include "device/cuda/cudnn_tuner.h"

namespace dptrain::device::cuda {

class CudnnPlanner {
 public:
  /// With a tuner engines are measured.
  CudnnPlanner(DeviceProperties device, const gpu::ConvOptions& options,
               std::optional<CudnnTuner> tuner = std::nullopt);

  /// Forward, a graph that no engine takes with its bias and ReLU is tried with less: CudnnPass::fused() tells what the
  /// plan does, the rest is the caller's. Throws Error{kDevice} naming the problem and every rejected engine.
  CudnnPass plan(const gpu::ConvProblem& problem, ConvPass pass);

 private:
  std::optional<EnginePlan> find(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                                 Rejections& rejections);

  DeviceProperties device_;
  gpu::ConvOptions options_;
  std::optional<CudnnTuner> tuner_;
};

}  // namespace dptrain::device::cuda
