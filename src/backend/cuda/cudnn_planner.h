#pragma once

// Finds the engine of each pass of a convolution, once for all that are equal, and once for all GPUs that are. One per
// ConvolutionMaker; several threads that have entered the device may call at once.

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "backend/cuda/cudnn_pass.h"
#include "backend/cuda/cudnn_tuner.h"
#include "backend/cuda/engine_share.h"

namespace dptrain::backend::cuda {

class CudnnPlanner {
 public:
  using SharedPlan = std::shared_ptr<const EnginePlan>;

  /// A tuner, where there is a device: with options.autotune it measures engines; it tries them on addresses that are
  /// less than fully aligned. `share`: with GPUs that are equal to this one; null: with none.
  CudnnPlanner(DeviceProperties device, const gpu::ConvOptions& options, std::unique_ptr<CudnnTuner> tuner = nullptr,
               std::shared_ptr<EngineShare> share = nullptr);

  /// The plan, or what waits for it: plans that another thread or GPU makes hold up only who needs them. Forward, a
  /// graph that no engine takes with its bias is tried without: CudnnPass::fused() tells what the plan does, the rest
  /// is the caller's. The future holds Error{kDevice} naming the problem and every rejected engine.
  std::shared_future<SharedPlan> begin(const gpu::ConvProblem& problem, ConvPass pass);
  /// Waits for it.
  CudnnPass plan(const gpu::ConvProblem& problem, ConvPass pass) { return CudnnPass(begin(problem, pass).get()); }

  /// How many plans it has taken from equal GPUs.
  int taken() const noexcept { return *taken_; }

 private:
  EnginePlan choose(const gpu::ConvProblem& problem, ConvPass pass);
  std::optional<EnginePlan> find(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                                 Rejections& rejections);

  std::shared_ptr<const DeviceProperties> device_;  // plans that are still to be taken hold it, too
  gpu::ConvOptions options_;
  std::unique_ptr<CudnnTuner> tuner_;
  bool shared_;
  std::shared_ptr<std::atomic<int>> taken_ = std::make_shared<std::atomic<int>>(0);
  PlanTable<std::pair<gpu::ConvProblem, ConvPass>, SharedPlan> plans_;
};

}  // namespace dptrain::backend::cuda
