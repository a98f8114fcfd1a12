#include "backend/kernel_bench.h"

#include <optional>

#include <benchmark/benchmark.h>

#include "backend/cpu/bench/suite.h"
#include "backend/cpu/conv/conv_trial.h"
#include "backend/cpu/cpu_device.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::backend {
namespace cpu {

float* Arrays::floats(int index, std::int64_t n) {
  auto& array = arrays_[index];
  if (!array) array = random_floats(n);
  return array->as<float>();
}

void* Arrays::zero_bytes(int index, std::int64_t bytes) {
  auto& array = arrays_[index];
  if (!array) array = allocate_memory(static_cast<std::size_t>(bytes), "cpu");
  return array->data();
}

void add(Suite& suite, std::string name, double bytes, double flops, std::function<void(Arrays&)> run) {
  suite.push_back({std::move(name), [=] {
                     const auto arrays = std::make_shared<Arrays>();
                     return Kernel{.run = [=] { run(*arrays); }, .flops = flops, .bytes = bytes};
                   }});
}

}  // namespace cpu

namespace {

constexpr const char* kFlops = "flops";
constexpr const char* kBytes = "bytes";
constexpr const char* kError = "error";

class Reporter final : public benchmark::BenchmarkReporter {
 public:
  explicit Reporter(const std::function<void(const KernelTime&)>& done) : done_(done) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const double seconds = run.real_accumulated_time / static_cast<double>(run.iterations);
      done_({.name = run.run_name.function_name,
             .milliseconds = seconds * 1e3,
             .gflops = run.counters.at(kFlops) / seconds / 1e9,
             .gbytes = run.counters.at(kBytes) / seconds / 1e9,
             .error = run.counters.at(kError)});
    }
  }

 private:
  const std::function<void(const KernelTime&)>& done_;
};

/// The kernel of the running benchmark, made once although the library calls a benchmark several times.
struct Current {
  const cpu::Benchmark* benchmark = nullptr;
  cpu::Kernel kernel;
  std::optional<double> measured_error;

  cpu::Kernel& of(const cpu::Benchmark& wanted) {
    if (benchmark == &wanted) return kernel;
    kernel = {};  // frees its memory before the next one allocates
    kernel = wanted.make();
    kernel.run();  // allocates, warms up
    benchmark = &wanted;
    measured_error.reset();
    return kernel;
  }

  double error() {
    if (!measured_error) measured_error = kernel.error ? kernel.error() : 0;
    return *measured_error;
  }
};

cpu::Suite matching(const cpu::Suite& all, const std::string& filter) try {
  const Pattern pattern(filter);
  cpu::Suite chosen;
  for (const cpu::Benchmark& one : all)
    if (pattern.is_in(one.name)) chosen.push_back(one);
  if (chosen.empty()) throw Error(ErrorKind::kUsage, fmt::format("--filter: no kernel's name matches '{}'", filter));
  return chosen;
} catch (const PatternError& error) {
  throw Error(ErrorKind::kUsage, fmt::format("--filter: '{}' is not a regular expression: {}", filter, error.what()));
}

}  // namespace

void bench_kernels(const ConvChoices& convolutions, const KernelBenchOptions& options,
                   const std::function<void(const KernelTime&)>& done) {
  kernels::cpu::set_thread_count(options.threads);
  cpu::Suite all;
  cpu::add_convolutions(all, convolutions);
  cpu::add_window_kernels(all);
  cpu::add_products(all);
  cpu::add_layer_kernels(all);
  cpu::add_flat_kernels(all);
  const cpu::Suite chosen = matching(all, options.filter);

  Current current;
  benchmark::ClearRegisteredBenchmarks();
  for (const cpu::Benchmark& one : chosen)
    benchmark::RegisterBenchmark(one.name.c_str(),
                                 [&](benchmark::State& state) {
                                   cpu::Kernel& kernel = current.of(one);
                                   for ([[maybe_unused]] const auto iteration : state) kernel.run();
                                   state.counters[kFlops] = kernel.flops;
                                   state.counters[kBytes] = kernel.bytes;
                                   state.counters[kError] = current.error();
                                 })
        ->MinTime(options.min_seconds)
        ->UseRealTime();
  Reporter reporter(done);
  benchmark::RunSpecifiedBenchmarks(&reporter, ".");
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace dptrain::backend
