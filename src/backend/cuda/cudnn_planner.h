#pragma once

// Finds the engine of each pass of convolutions and attention, once for equal problems and equal GPUs. One per
// ConvolutionMaker.
// Threads that have entered the device may call concurrently.

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backend/cuda/cudnn_pass.h"
#include "backend/cuda/cudnn_tuner.h"
#include "backend/cuda/engine_share.h"
#include "backend/gpu/attention_engine.h"

namespace dptrain::backend::cuda {

class CudnnPlanner {
 public:
  using SharedPlan = std::shared_ptr<const EnginePlan>;

  /// `tuner`: null without a device. Measures engines if options.autotune is set, and tests engines on addresses that
  /// are not fully aligned. `share`: equal GPUs share plans through it; null: none. `preferred` must outlive it.
  CudnnPlanner(DeviceProperties device, const gpu::ConvOptions& options, std::unique_ptr<CudnnTuner> tuner = nullptr,
               std::shared_ptr<EngineShare> share = nullptr,
               std::span<const PreferredEngine> preferred = preferred_engines());

  /// The plan, or a future for one that another thread or GPU is making. If no engine supports a forward graph with
  /// bias, it is planned without; CudnnPass::fused() lists the operations that it covers. Errors are
  /// Error{kDevice} with the problem and all rejected engines.
  std::shared_future<SharedPlan> begin(const gpu::ConvProblem& problem, ConvPass pass);
  /// The plan of attention, forward or backward, without measurements.
  std::shared_future<SharedPlan> begin(const gpu::AttentionProblem& problem, bool backward);
  /// begin(), waiting for the plan.
  CudnnPass plan(const gpu::ConvProblem& problem, ConvPass pass) { return CudnnPass(begin(problem, pass).get()); }

  int taken() const noexcept { return *taken_; }

 private:
  EnginePlan choose(const gpu::ConvProblem& problem, ConvPass pass);
  std::optional<EnginePlan> find(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                                 Rejections& rejections);
  EngineQuery query_of(const gpu::ConvProblem& problem, ConvPass pass) const;

  std::shared_ptr<const DeviceProperties> device_;  // also used by deferred takes
  gpu::ConvOptions options_;
  std::unique_ptr<CudnnTuner> tuner_;
  std::span<const PreferredEngine> preferred_;
  std::shared_ptr<std::atomic<int>> taken_ = std::make_shared<std::atomic<int>>(0);
  PlanTable<std::string, SharedPlan> plans_;
};

}  // namespace dptrain::backend::cuda
