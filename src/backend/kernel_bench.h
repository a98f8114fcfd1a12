#pragma once

// `dptrain bench --kernels`: times the kernels of kernels/cpu one by one with Google Benchmark. Convolution passes run
// with each algorithm and with a naive reference. Builds without Google Benchmark use kernel_bench_stub.cpp. Main
// thread.

#include <functional>
#include <string>

namespace dptrain::backend {

class ConvChoices;

struct KernelTime {
  std::string name;         ///< "conv/11x11x64/3x3/64/forward/winograd", "pool/max2x2/backward"
  double milliseconds = 0;  ///< wall time per run
  double gflops = 0;        ///< per second; 0: memory traffic only
  double gbytes = 0;        ///< per second, if each array is read or written once; 0 for convolutions
  double error = 0;         ///< convolutions: ||result - exact|| / ||exact|| with exact in double; 0 for others
};

struct KernelBenchOptions {
  int threads = 1;
  std::string filter;        ///< regular expression that a part of the name must match; "": all
  double min_seconds = 0.1;  ///< per kernel
};

/// `convolutions` has recorded the passes to run. Throws Error{kUsage} if the filter is not a regular expression or
/// matches nothing, and in builds without kernel benchmarks.
void bench_kernels(const ConvChoices& convolutions, const KernelBenchOptions& options,
                   const std::function<void(const KernelTime&)>& done);

}  // namespace dptrain::backend
