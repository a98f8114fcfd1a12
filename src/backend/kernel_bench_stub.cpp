#include "backend/kernel_bench.h"
#include "core/error.h"

namespace dptrain::backend {

void bench_kernels(const ConvChoices&, const KernelBenchOptions&, const std::function<void(const KernelTime&)>&) {
  throw Error(
      ErrorKind::kUsage,
      "this build has no kernel benchmarks: Google Benchmark (libbenchmark-dev) was not found when it was configured");
}

}  // namespace dptrain::backend
