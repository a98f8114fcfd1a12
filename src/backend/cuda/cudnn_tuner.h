#pragma once

// Chooses the engine that measures fastest (ConvOptions::autotune), and stores it in the plan cache. One per
// ConvolutionMaker. Threads may call it concurrently: they plan in parallel and measure one at a time.

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backend/cuda/cudnn_pass.h"

namespace dptrain::backend::cuda {

class PlanCache;

class CudnnTuner {
 public:
  CudnnTuner(std::shared_ptr<gpu::Runtime> runtime, std::shared_ptr<CudnnHandle> handle, int id);

  /// Whether measurements are stored. If not, do not measure: the next run would use other engines and give other bits.
  /// The first call warns if the result is false.
  bool stores_measurements();

  /// The fastest engine of the problem's graph, stored under the key; nullopt without engines. Uses a valid entry of
  /// the cache, else measures the first eight engines of find_engines (32 for less aligned addresses). Without memory
  /// for tensors and workspaces it stores and returns the first engine.
  std::optional<EnginePlan> choose(const std::shared_ptr<const ConvGraph>& graph, const std::string& key,
                                   const gpu::ConvProblem& problem, const DeviceProperties& device, EngineQuery query,
                                   Rejections& rejections);
  /// The first plan that runs on tensors of the problem's alignment; nullopt if none does.
  std::optional<EnginePlan> first_that_runs(std::vector<EnginePlan> plans, const gpu::ConvProblem& problem,
                                            Rejections& rejections);

 private:
  /// The fastest of `plans`, stored under the key; nullopt if none runs. Requires measuring_ and the cache's lock.
  std::optional<EnginePlan> fastest(std::vector<EnginePlan> plans, const std::string& key,
                                    const gpu::ConvProblem& problem, PlanCache& cache, Rejections& rejections);

  /// Warns once if storing fails.
  void store(PlanCache& cache, const std::string& key, const EnginePlan& plan, double microseconds);

  std::shared_ptr<gpu::Runtime> runtime_;
  std::shared_ptr<CudnnHandle> handle_;
  std::string cache_path_;
  std::mutex measuring_;  // guards handle_ and warned_
  bool warned_ = false;
  std::once_flag asked_;
  bool stores_measurements_ = false;  // set by the first stores_measurements()
};

/// Number of runs between two events for runs of this length: more for short runs, to reduce the effect of jitter.
int runs_of_window(double microseconds);

/// The key of a plan in the cache: problem, pass, fused ops and the options that limit the choice.
std::string plan_cache_key(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                           const gpu::ConvOptions& options);

}  // namespace dptrain::backend::cuda
