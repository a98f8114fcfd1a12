#pragma once

// Chooses the engine that measures fastest (ConvOptions::autotune), and stores it in the plan cache. One per
// ConvolutionMaker. Threads may call it concurrently: they plan in parallel and measure one at a time.
//
// All engines of a pass compute with the same random numbers. An engine is rejected if its result differs from that of
// the first one. Some engines of cuDNN are wrong for some problems (known_faults()); constants would hide wrong
// indices.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/cudnn_pass.h"

namespace dptrain::backend::cuda {

class PlanCache;

/// Runs of the candidates of one pass, all with the same inputs: a GPU's, or a test's. One thread.
class EngineTrials {
 public:
  virtual ~EngineTrials() = default;
  virtual std::string name(std::size_t engine) const = 0;
  /// Sets the output to NaN and runs the engine once. Throws Error if it does not run.
  virtual void run(std::size_t engine) = 0;
  struct Difference {
    float largest = 0;  ///< |output - reference|
    float output = 0;   ///< |output|
  };
  /// Largest values over all elements; NaN if an element is NaN.
  virtual Difference compare() = 0;
  /// Makes the output the reference.
  virtual void keep() = 0;
  /// Microseconds of a run; may stop early if it exceeds `to_beat` by far. Throws Error if the engine does not run.
  virtual double time(std::size_t engine, double to_beat) = 0;
  /// Waits for the device after an engine's error. Throws Error if the device does not work any more.
  virtual void recover() = 0;
};

struct TrialOutcome {
  std::optional<std::size_t> fastest;  ///< nullopt if no engine runs
  double microseconds = 0;
  std::string first_difference;  ///< reason of the first rejection by result, with the engine's name; may be empty
};

/// The fastest of `engines` candidates. Its result differs from that of the first candidate that runs by at most
/// `tolerance`, relative to the largest value. Later candidates must be 3 % faster.
TrialOutcome find_fastest(EngineTrials& trials, std::size_t engines, double tolerance, Rejections& rejections);

/// Allowed difference between two right engines, relative to the largest value of the result.
double result_tolerance(DType type, const gpu::ConvOptions& options);

/// Runs of the plans on a GPU. Throws Error{kMemory} if the tensors do not fit.
std::unique_ptr<EngineTrials> make_gpu_trials(gpu::Runtime& runtime, CudnnHandle& handle,
                                              const gpu::ConvProblem& problem, ConvPass pass,
                                              const std::vector<std::shared_ptr<EnginePlan>>& plans);

class CudnnTuner {
 public:
  CudnnTuner(std::shared_ptr<gpu::Runtime> runtime, std::shared_ptr<CudnnHandle> handle, int id);

  /// Whether measurements are stored. If not, do not measure: the next run would use other engines and give other bits.
  /// The first call warns if the result is false.
  bool stores_measurements();

  /// The fastest engine of the problem's graph, stored under the key; nullopt without engines. Uses a valid entry of
  /// the cache, else measures the first eight engines of find_engines (32 for less aligned addresses). Without memory
  /// for tensors and workspaces it stores and returns the first engine. Warns of the first engine with another result.
  std::optional<EnginePlan> choose(const std::shared_ptr<const CudnnGraph>& graph, const std::string& key,
                                   const gpu::ConvProblem& problem, const DeviceProperties& device, EngineQuery query,
                                   Rejections& rejections);
  /// The first plan that runs on tensors of the problem's alignment; nullopt if none does.
  std::optional<EnginePlan> first_that_runs(std::vector<EnginePlan> plans, const gpu::ConvProblem& problem,
                                            Rejections& rejections);

 private:
  /// The fastest of `plans`, stored under the key; nullopt if none runs. Requires measuring_ and the cache's lock.
  std::optional<EnginePlan> fastest(std::vector<EnginePlan> plans, const std::string& key,
                                    const gpu::ConvProblem& problem, const EngineQuery& query, PlanCache& cache,
                                    Rejections& rejections);

  /// Warns once if storing fails.
  void store(PlanCache& cache, const std::string& key, const EnginePlan& plan, double microseconds);

  std::shared_ptr<gpu::Runtime> runtime_;
  std::shared_ptr<CudnnHandle> handle_;
  std::string cache_path_;
  std::mutex measuring_;  // guards handle_, warned_ and warned_of_results_
  bool warned_ = false;   // that the cache cannot be written
  bool warned_of_results_ = false;
  std::once_flag asked_;
  bool stores_measurements_ = false;  // set by the first stores_measurements()
};

/// Number of runs between two events for runs of this length: more for short runs, to reduce the effect of jitter.
int runs_of_window(double microseconds);

/// The key of a plan in the cache: problem, pass, fused ops and the options that limit the choice.
std::string plan_cache_key(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                           const gpu::ConvOptions& options);

}  // namespace dptrain::backend::cuda
