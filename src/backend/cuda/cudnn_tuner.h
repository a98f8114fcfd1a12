#pragma once

// Takes the engine that measures fastest instead of the one that the heuristics name first (ConvOptions::autotune), and
// remembers it in the plan cache. One per ConvolutionMaker; several threads may call at once: they make plans side by
// side and measure in turns.

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

  /// Whether what is measured is kept. Else nothing should be: the next run would have other engines and other bits.
  /// Warns when it is asked for the first time and the answer is no.
  bool remembers();

  /// The fastest engine of the problem's graph, remembered under the key: of the first eight that find_engines finds
  /// (32 where addresses are less aligned), or from the cache if it is there and still holds; none where there are no
  /// engines. Takes memory of the size of the pass's tensors and workspaces while it measures; where there is none,
  /// the first one is it, and is remembered.
  std::optional<EnginePlan> choose(const std::shared_ptr<const ConvGraph>& graph, const std::string& key,
                                   const gpu::ConvProblem& problem, const DeviceProperties& device, EngineQuery query,
                                   Rejections& rejections);
  /// The first of the plans that runs on tensors of the problem's alignment; none where none does. Takes memory as
  /// choose() does, for one plan at a time.
  std::optional<EnginePlan> first_that_runs(std::vector<EnginePlan> plans, const gpu::ConvProblem& problem,
                                            Rejections& rejections);

 private:
  /// The fastest of `plans`, none if none runs; remembered under the key. Called with measuring_ and the cache held.
  std::optional<EnginePlan> fastest(std::vector<EnginePlan> plans, const std::string& key,
                                    const gpu::ConvProblem& problem, PlanCache& cache, Rejections& rejections);

  /// Warns once where that fails.
  void store(PlanCache& cache, const std::string& key, const EnginePlan& plan, double microseconds);

  std::shared_ptr<gpu::Runtime> runtime_;
  std::shared_ptr<CudnnHandle> handle_;
  std::string cache_path_;
  std::mutex measuring_;  // guards handle_ and warned_
  bool warned_ = false;
  std::once_flag asked_;
  bool remembers_ = false;  // once asked
};

/// How often an engine runs between two events, by what one run takes: short ones more often, or the events' own
/// unsteadiness decides.
int runs_of_window(double microseconds);

/// What a plan is remembered under: problem, pass, what is fused and the options that limit the choice.
std::string plan_cache_key(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                           const gpu::ConvOptions& options);

}  // namespace dptrain::backend::cuda
