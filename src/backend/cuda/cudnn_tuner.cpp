#include "backend/cuda/cudnn_tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/cuda/cuda_error.h"
#include "backend/cuda/plan_cache.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace dptrain::backend::cuda {
namespace {

constexpr std::size_t kMeasured = 8;
constexpr int kWindows = 3;
/// Engines whose first runs take this many times the best one's are not measured further.
constexpr double kHopeless = 3;
/// Runs of at least so many microseconds are measured once.
constexpr double kLong = 10000;
/// A later engine of the heuristics must be faster by more than the variation of clocks and caches.
constexpr double kFaster = 0.97;

class Scratch {
 public:
  Scratch(gpu::Runtime& runtime, std::uint64_t bytes)
      : runtime_(runtime), memory_(runtime.allocate(bytes)), bytes_(bytes) {}
  ~Scratch() { runtime_.free(memory_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* data() const noexcept { return memory_; }
  /// Fills with 0x3c bytes (0.0115 in float32 and bfloat16). Zeros draw less power, which favours engines that heat up.
  void fill(gpu::StreamHandle stream, const std::string& where) const {
    check_cuda(cudaMemsetAsync(memory_, 0x3c, bytes_, static_cast<cudaStream_t>(stream)), "cudaMemsetAsync", where);
  }

 private:
  gpu::Runtime& runtime_;
  void* memory_;
  std::uint64_t bytes_;
};

/// A stream and two events that measure time.
class Stopwatch {
 public:
  explicit Stopwatch(gpu::Runtime& runtime) : runtime_(runtime), stream_(runtime.make_stream(false)) {
    check_cuda(cudaEventCreate(&begin_), "cudaEventCreate", runtime.name());
    check_cuda(cudaEventCreate(&end_), "cudaEventCreate", runtime.name());
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    runtime_.destroy_stream(stream_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  gpu::StreamHandle stream() const noexcept { return stream_; }
  void synchronize() { runtime_.synchronize(stream_); }

  /// Microseconds per run after a warm-up run. Takes the best of kWindows means, since the host may launch late while
  /// other threads compile. `to_beat`: time of the best engine so far.
  template <class Run>
  double time(const Run& run, double to_beat) {
    run();
    double first = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kWindows; ++i) first = std::min(first, window(run, 1));
    if (first > kHopeless * to_beat || first > kLong) return first;
    const int runs = runs_of_window(first);
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kWindows; ++i) best = std::min(best, window(run, runs));
    return best;
  }

 private:
  template <class Run>
  double window(const Run& run, int runs) {
    const auto stream = static_cast<cudaStream_t>(stream_);
    check_cuda(cudaEventRecord(begin_, stream), "cudaEventRecord", runtime_.name());
    for (int i = 0; i < runs; ++i) run();
    check_cuda(cudaEventRecord(end_, stream), "cudaEventRecord", runtime_.name());
    check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize", runtime_.name());
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime", runtime_.name());
    return milliseconds * 1000.0 / runs;
  }

  gpu::Runtime& runtime_;
  gpu::StreamHandle stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Memory for all tensors of a problem, aligned no better than its alignment, and a workspace.
struct Tensors {
  Tensors(gpu::Runtime& runtime, const gpu::ConvProblem& p, std::uint64_t workspace_bytes)
      : offset(p.alignment % kFullAlignment),
        x(runtime, bytes(p, p.rows * p.in_h * p.in_w * p.in_channels)),
        filter(runtime, bytes(p, p.weights())),
        bias(runtime, bytes(p, p.out_channels)),
        y(runtime, bytes(p, p.rows * p.out_h * p.out_w * p.out_channels)),
        workspace(runtime, workspace_bytes) {}

  void fill(gpu::StreamHandle stream, const std::string& where) const {
    for (const Scratch* tensor : {&x, &filter, &bias, &y}) tensor->fill(stream, where);
  }
  ConvMemory memory() const { return {at(x), at(filter), at(bias), at(y), workspace.data()}; }

  int offset;  ///< in bytes
  Scratch x, filter, bias, y, workspace;

 private:
  static std::uint64_t bytes(const gpu::ConvProblem& p, std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) * size_of(p.type) + kFullAlignment;
  }
  void* at(const Scratch& tensor) const { return static_cast<std::byte*>(tensor.data()) + offset; }
};

/// Time of one engine; infinity and a rejection if it does not run.
double measure(CudnnPass& pass, CudnnHandle& handle, const Tensors& tensors, Stopwatch& watch, double to_beat,
               Rejections& rejections) {
  try {
    return watch.time([&] { pass.run(handle, tensors.memory(), watch.stream()); }, to_beat);
  } catch (const Error& error) {
    rejections.add(error.what(), pass.name());
  }
  watch.synchronize();  // an error here is the GPU's, not the engine's
  return std::numeric_limits<double>::infinity();
}

}  // namespace

int runs_of_window(double microseconds) {
  constexpr double kWindow = 300;  // in microseconds; events resolve 0.5, and a launch may be late by several
  constexpr int kMin = 3, kMax = 100;
  return microseconds > 0 ? static_cast<int>(std::clamp(std::ceil(kWindow / microseconds), 1.0 * kMin, 1.0 * kMax))
                          : kMax;
}

CudnnTuner::CudnnTuner(std::shared_ptr<gpu::Runtime> runtime, std::shared_ptr<CudnnHandle> handle, int id)
    : runtime_(std::move(runtime)), handle_(std::move(handle)) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, id), "cudaGetDeviceProperties", runtime_->name());
  cache_path_ = plan_cache_path(cudnn().version(), properties.name);
}

bool CudnnTuner::stores_measurements() {
  std::call_once(asked_, [this] {
    stores_measurements_ = PlanCache(cache_path_).is_open();
    if (!stores_measurements_)
      log::warn(
          fmt::format("the plan cache {} cannot be written; engines are chosen by the heuristics, without measuring",
                      cache_path_.empty() ? "(no HOME, no XDG_CACHE_HOME)" : cache_path_));
  });
  return stores_measurements_;
}

void CudnnTuner::store(PlanCache& cache, const std::string& key, const EnginePlan& plan, double microseconds) {
  if (cache.store(key, plan.name.text(), microseconds) || warned_) return;
  warned_ = true;
  log::warn(
      fmt::format("the plan cache {} cannot be written; the next run will measure again and may choose other engines",
                  cache_path_));
}

std::optional<EnginePlan> CudnnTuner::choose(const std::shared_ptr<const ConvGraph>& graph, const std::string& key,
                                             const gpu::ConvProblem& problem, const DeviceProperties& device,
                                             EngineQuery query, Rejections& rejections) {
  // Planning may take a second of compilation, so it is done without the lock of the cache.
  std::string stale;
  if (const auto known = PlanCache(cache_path_).find(key)) {
    query.only = *known;
    Rejections unsaid;
    if (auto plans = find_engines(graph, device, query, unsaid); !plans.empty()) return std::move(plans.front());
    query.only.clear();
    stale = *known;
  }
  query.wanted = std::max(query.wanted, kMeasured);
  std::vector<EnginePlan> plans = find_engines(graph, device, query, rejections);
  if (plans.empty()) return std::nullopt;

  const std::lock_guard lock(measuring_);
  PlanCache cache(cache_path_);
  if (const auto known = cache.find(key); known && *known != stale) {  // measured by another replica meanwhile
    const auto same = std::ranges::find_if(plans, [&](const EnginePlan& plan) { return plan.name.text() == *known; });
    if (same != plans.end()) return std::move(*same);
  }
  return fastest(std::move(plans), key, problem, cache, rejections);
}

std::optional<EnginePlan> CudnnTuner::fastest(std::vector<EnginePlan> plans, const std::string& key,
                                              const gpu::ConvProblem& problem, PlanCache& cache,
                                              Rejections& rejections) {
  std::uint64_t workspace = 0;
  for (const EnginePlan& plan : plans) workspace = std::max(workspace, plan.workspace);
  Stopwatch watch(*runtime_);
  std::optional<Tensors> allocated;
  try {
    allocated.emplace(*runtime_, problem, workspace);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMemory) throw;
    store(cache, key, plans.front(), 0);  // so that the next run uses it, too
    return std::move(plans.front());
  }
  const Tensors& tensors = *allocated;
  tensors.fill(watch.stream(), runtime_->name());

  EnginePlan* best = nullptr;
  double best_time = std::numeric_limits<double>::infinity();
  std::vector<std::shared_ptr<EnginePlan>> all;
  for (EnginePlan& plan : plans) all.push_back(std::make_shared<EnginePlan>(std::move(plan)));
  for (const auto& plan : all) {
    CudnnPass candidate(plan);
    const double time = measure(candidate, *handle_, tensors, watch, best_time, rejections);
    if (best != nullptr ? time >= kFaster * best_time : !std::isfinite(time)) continue;
    best_time = time;
    best = plan.get();
  }
  if (best == nullptr) return std::nullopt;
  store(cache, key, *best, best_time);
  return std::move(*best);
}

std::optional<EnginePlan> CudnnTuner::first_that_runs(std::vector<EnginePlan> plans, const gpu::ConvProblem& problem,
                                                      Rejections& rejections) {
  const std::lock_guard lock(measuring_);
  Stopwatch watch(*runtime_);
  for (EnginePlan& plan : plans) {
    const auto tried = std::make_shared<EnginePlan>(std::move(plan));
    CudnnPass candidate(tried);
    const Tensors tensors(*runtime_, problem, tried->workspace);
    tensors.fill(watch.stream(), runtime_->name());
    try {
      candidate.run(*handle_, tensors.memory(), watch.stream());
    } catch (const Error& error) {
      rejections.add(error.what(), candidate.name());
      runtime_->synchronize(watch.stream());
      continue;
    }
    runtime_->synchronize(watch.stream());  // an error here is the GPU's, not the engine's
    return std::move(*tried);
  }
  return std::nullopt;
}

std::string plan_cache_key(const gpu::ConvProblem& p, ConvPass pass, const FusedOps& fused,
                           const gpu::ConvOptions& options) {
  return fmt::format("{} {} n{} x{},{},{} y{},{},{} f{},{} s{},{} d{},{} p{},{},{},{} g{}{}{}{}{} w{}", name_of(pass),
                     name_of(p.type), p.rows, p.in_h, p.in_w, p.in_channels, p.out_h, p.out_w, p.out_channels,
                     p.kernel_h, p.kernel_w, p.stride_h, p.stride_w, p.dilation_h, p.dilation_w, p.pad_top,
                     p.pad_bottom, p.pad_left, p.pad_right, p.groups,
                     p.alignment == kFullAlignment ? "" : fmt::format(" a{}", p.alignment), fused.bias ? " bias" : "",
                     options.deterministic ? " det" : "", options.tf32 ? " tf32" : "", options.workspace_limit);
}

}  // namespace dptrain::backend::cuda
