#pragma once

// Takes the engine that measures fastest instead of the one that the heuristics name first (ConvOptions::autotune), and
// remembers it in the plan cache. One per ConvolutionMaker, on its thread.

#include <memory>
#include <optional>
#include <string>

#include "device/cuda/cudnn_pass.h"

namespace dptrain::device::cuda {

class CudnnTuner {
 public:
  CudnnTuner(std::shared_ptr<gpu::Runtime> runtime, std::shared_ptr<CudnnHandle> handle, int id);

  /// The fastest engine of the problem's graph, remembered under the key: of the first eight that find_engines finds, or from
  /// the cache if it is there and still holds; none where there are no engines. Takes memory of the size of the pass's
  /// tensors and workspaces for the time of the call.
  std::optional<EnginePlan> choose(const std::shared_ptr<const ConvGraph>& graph, const std::string& key,
                                   const gpu::ConvProblem& problem, const DeviceProperties& device, EngineQuery query,
                                   Rejections& rejections);

 private:
  std::shared_ptr<gpu::Runtime> runtime_;
  std::shared_ptr<CudnnHandle> handle_;
  std::string cache_path_;
  bool warned_ = false;
};

/// What a plan is remembered under: problem, pass, what is fused and the options that limit the choice.
std::string plan_cache_key(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                           const gpu::ConvOptions& options);

}  // namespace dptrain::device::cuda
