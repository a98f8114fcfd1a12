#pragma once

// Finds the engine of each pass of a convolution, once for all that are equal. One per ConvolutionMaker; several
// threads that have entered the device may call at once.

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "device/cuda/cudnn_pass.h"
#include "device/cuda/cudnn_tuner.h"

namespace dptrain::device::cuda {

class CudnnPlanner {
 public:
  /// A tuner, where there is a device: with options.autotune it measures engines; it tries them on addresses that are
  /// less than fully aligned.
  CudnnPlanner(DeviceProperties device, const gpu::ConvOptions& options, std::unique_ptr<CudnnTuner> tuner = nullptr);

  /// Forward, a graph that no engine takes with its bias is tried without: CudnnPass::fused() tells what the
  /// plan does, the rest is the caller's. Throws Error{kDevice} naming the problem and every rejected engine.
  CudnnPass plan(const gpu::ConvProblem& problem, ConvPass pass);

 private:
  using SharedPlan = std::shared_ptr<const EnginePlan>;

  SharedPlan choose(const gpu::ConvProblem& problem, ConvPass pass);
  std::optional<EnginePlan> find(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                                 Rejections& rejections);

  DeviceProperties device_;
  gpu::ConvOptions options_;
  std::unique_ptr<CudnnTuner> tuner_;
  std::mutex mutex_;  // guards plans_
  std::map<std::pair<gpu::ConvProblem, ConvPass>, std::shared_future<SharedPlan>> plans_;
};

}  // namespace dptrain::device::cuda
