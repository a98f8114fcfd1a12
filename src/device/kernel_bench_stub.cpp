#include "core/error.h"
#include "device/kernel_bench.h"

namespace dptrain::device {

void bench_kernels(const ConvChoices&, const KernelBenchOptions&, const std::function<void(const KernelTime&)>&) {
  throw Error(
      ErrorKind::kUsage,
      "this build has no kernel benchmarks: Google Benchmark (libbenchmark-dev) was not there when it was configured");
}

}  // namespace dptrain::device
