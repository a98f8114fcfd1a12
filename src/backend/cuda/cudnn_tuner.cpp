#include "backend/cuda/cudnn_tuner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/cuda/cuda_error.h"
#include "backend/cuda/plan_cache.h"
#include "backend/cuda/trial_inputs.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::cuda {

namespace kernel = kernels::DPTRAIN_BACKEND;

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
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
  void set_bytes(int value, gpu::StreamHandle stream) const {
    check_cuda(cudaMemsetAsync(memory_, value, bytes_, static_cast<cudaStream_t>(stream)), "cudaMemsetAsync",
               runtime_.name());
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
    double first = kForever;
    for (int i = 0; i < kWindows; ++i) first = std::min(first, window(run, 1));
    if (first > kHopeless * to_beat || first > kLong) return first;
    const int runs = runs_of_window(first);
    double best = kForever;
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

/// One tensor of a problem, at an address aligned no better than its alignment.
class Tensor {
 public:
  Tensor(gpu::Runtime& runtime, const gpu::ConvProblem& problem, std::int64_t elements)
      : type_(problem.type),
        elements_(elements),
        offset_(problem.alignment % kFullAlignment),
        memory_(runtime, static_cast<std::uint64_t>(elements) * size_of(problem.type) + kFullAlignment) {}

  void* data() const noexcept { return static_cast<std::byte*>(memory_.data()) + offset_; }
  std::int64_t elements() const noexcept { return elements_; }
  void set_nan(gpu::StreamHandle stream) const { memory_.set_bytes(0xFF, stream); }
  void set_random(const kernel::Launch& at, std::uint32_t number, const Scratch& zeros) const {
    memory_.set_bytes(0, at.stream);
    randomize(at, type_, number, static_cast<const kernels::StepState*>(zeros.data()), data(), elements_);
  }

 private:
  DType type_;
  std::int64_t elements_;
  int offset_;  // in bytes
  Scratch memory_;
};

/// All tensors of a problem, with random numbers, and a workspace.
struct Tensors {
  Tensors(gpu::Runtime& runtime, const gpu::ConvProblem& p, std::uint64_t workspace_bytes)
      : x(runtime, p, p.rows * p.in_h * p.in_w * p.in_channels),
        filter(runtime, p, p.weights()),
        bias(runtime, p, p.out_channels),
        y(runtime, p, p.rows * p.out_h * p.out_w * p.out_channels),
        workspace(runtime, workspace_bytes),
        zeros(runtime, sizeof(kernels::StepState)) {}

  void set_random(const kernel::Launch& at) const {
    std::uint32_t number = 0;
    for (const Tensor* tensor : {&x, &filter, &bias, &y}) tensor->set_random(at, number++, zeros);
  }
  ConvMemory memory() const { return {x.data(), filter.data(), bias.data(), y.data(), workspace.data()}; }
  const Tensor& output(ConvPass pass) const {
    return pass == ConvPass::kForward ? y : pass == ConvPass::kData ? x : filter;
  }

  Tensor x, filter, bias, y;
  Scratch workspace;
  Scratch zeros;  ///< a StepState for randomize()
};

class GpuTrials final : public EngineTrials {
 public:
  GpuTrials(gpu::Runtime& runtime, CudnnHandle& handle, const gpu::ConvProblem& problem, ConvPass pass,
            const std::vector<std::shared_ptr<EnginePlan>>& plans, std::uint64_t workspace)
      : runtime_(runtime),
        handle_(handle),
        type_(problem.type),
        watch_(runtime),
        tensors_(runtime, problem, workspace),
        output_(tensors_.output(pass)),
        reference_(runtime, problem, output_.elements()),
        largest_(runtime, 2 * sizeof(float)) {
    for (const auto& plan : plans) engines_.emplace_back(plan);
    tensors_.set_random(launch());
  }

  std::string name(std::size_t engine) const override { return engines_[engine].name(); }
  void run(std::size_t engine) override {
    output_.set_nan(watch_.stream());
    engines_[engine].run(handle_, tensors_.memory(), watch_.stream());
    watch_.synchronize();
  }
  Difference compare() override {
    largest_.set_bytes(0, watch_.stream());
    kernel::largest_difference(launch(), type_, output_.data(), reference_.data(), output_.elements(),
                               static_cast<float*>(largest_.data()));
    std::array<float, 2> largest{};
    runtime_.copy_out(largest.data(), largest_.data(), sizeof largest, watch_.stream());
    watch_.synchronize();
    return {.largest = largest[0], .output = largest[1]};
  }
  void keep() override {
    runtime_.copy(reference_.data(), output_.data(), static_cast<std::uint64_t>(output_.elements()) * size_of(type_),
                  watch_.stream());
  }
  double time(std::size_t engine, double to_beat) override {
    return watch_.time([&] { engines_[engine].run(handle_, tensors_.memory(), watch_.stream()); }, to_beat);
  }
  void recover() override { watch_.synchronize(); }

 private:
  kernel::Launch launch() const { return {.stream = watch_.stream(), .multiprocessors = runtime_.multiprocessors()}; }

  gpu::Runtime& runtime_;
  CudnnHandle& handle_;
  DType type_;
  Stopwatch watch_;
  Tensors tensors_;
  const Tensor& output_;
  Tensor reference_;
  Scratch largest_;
  std::vector<CudnnPass> engines_;
};

/// The engine whose result is the reference; no name if there is none yet.
struct Reference {
  std::string engine;
  float largest = 0;  ///< largest absolute value of the result
};

/// Why the engine's result is rejected, or "".
std::string result_fault(const EngineTrials::Difference& found, const Reference& reference, double tolerance) {
  if (std::isnan(found.output)) return "writes no number to some elements of its result";
  if (reference.engine.empty()) return found.output == 0 ? "writes zeros only" : "";
  if (found.largest <= tolerance * reference.largest) return "";
  return fmt::format("result differs from {} by {:.1e} of its largest value, expected {:.0e} at most", reference.engine,
                     found.largest / reference.largest, tolerance);
}

}  // namespace

double result_tolerance(DType type, const gpu::ConvOptions& options) {
  // A sequential float32 sum of 10^7 products has an error of 4e-5 of its deviation. TF32 rounds or cuts factors to 10
  // bits, about 1e-3. A bfloat16 result may differ by one last place, 2^-7 of its value at most.
  return type == DType::kF32 && !options.tf32 ? 1e-4 : 1e-2;
}

std::unique_ptr<EngineTrials> make_gpu_trials(gpu::Runtime& runtime, CudnnHandle& handle,
                                              const gpu::ConvProblem& problem, ConvPass pass,
                                              const std::vector<std::shared_ptr<EnginePlan>>& plans) {
  std::uint64_t workspace = 0;
  for (const auto& plan : plans) workspace = std::max(workspace, plan->workspace);
  return std::make_unique<GpuTrials>(runtime, handle, problem, pass, plans, workspace);
}

TrialOutcome find_fastest(EngineTrials& trials, std::size_t engines, double tolerance, Rejections& rejections) {
  TrialOutcome outcome;
  Reference reference;
  for (std::size_t engine = 0; engine < engines; ++engine) {
    const std::string name = trials.name(engine);
    try {
      trials.run(engine);
      const EngineTrials::Difference found = trials.compare();
      if (const std::string fault = result_fault(found, reference, tolerance); !fault.empty()) {
        rejections.add(fault, name);
        if (outcome.first_difference.empty()) outcome.first_difference = fmt::format("{}: {}", name, fault);
        continue;
      }
      if (reference.engine.empty()) {
        trials.keep();
        reference = {.engine = name, .largest = found.output};
      }
      const double time = trials.time(engine, outcome.fastest ? outcome.microseconds : kForever);
      if (outcome.fastest && time >= kFaster * outcome.microseconds) continue;
      outcome.fastest = engine;
      outcome.microseconds = time;
    } catch (const Error& error) {
      rejections.add(error.what(), name);
      trials.recover();  // an error here is the GPU's, not the engine's
    }
  }
  return outcome;
}

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

std::optional<EnginePlan> CudnnTuner::choose(const std::shared_ptr<const CudnnGraph>& graph, const std::string& key,
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
  return fastest(std::move(plans), key, problem, query, cache, rejections);
}

std::optional<EnginePlan> CudnnTuner::fastest(std::vector<EnginePlan> plans, const std::string& key,
                                              const gpu::ConvProblem& problem, const EngineQuery& query,
                                              PlanCache& cache, Rejections& rejections) {
  std::vector<std::shared_ptr<EnginePlan>> all;
  for (EnginePlan& plan : plans) all.push_back(std::make_shared<EnginePlan>(std::move(plan)));
  std::unique_ptr<EngineTrials> trials;
  try {
    trials = make_gpu_trials(*runtime_, *handle_, problem, query.pass, all);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMemory) throw;
    store(cache, key, *all.front(), 0);  // so that the next run uses it, too
    return std::move(*all.front());
  }
  const TrialOutcome outcome =
      find_fastest(*trials, all.size(), result_tolerance(problem.type, query.options), rejections);
  if (!outcome.first_difference.empty() && !warned_of_results_) {
    warned_of_results_ = true;
    log::warn(
        fmt::format("cuDNN {} has engines with different results for the {} pass of the convolution {}; {}; it is "
                    "not used (further ones are not reported)",
                    cudnn().version(), name_of(query.pass), describe(problem), outcome.first_difference));
  }
  if (!outcome.fastest) return std::nullopt;
  EnginePlan& best = *all[*outcome.fastest];
  store(cache, key, best, outcome.microseconds);
  return std::move(best);
}

std::optional<EnginePlan> CudnnTuner::first_that_runs(std::vector<EnginePlan> plans, const gpu::ConvProblem& problem,
                                                      Rejections& rejections) {
  const std::lock_guard lock(measuring_);
  Stopwatch watch(*runtime_);
  for (EnginePlan& plan : plans) {
    const auto tried = std::make_shared<EnginePlan>(std::move(plan));
    CudnnPass candidate(tried);
    const Tensors tensors(*runtime_, problem, tried->workspace);
    tensors.set_random({.stream = watch.stream(), .multiprocessors = runtime_->multiprocessors()});
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
