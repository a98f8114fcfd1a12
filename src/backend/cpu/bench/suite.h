#pragma once

// Suite: the kernel benchmarks. Each has a name and a function that makes its kernel, so that only the running kernel
// has memory. Filled and used on one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/conv_choices.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {

struct Kernel {
  std::function<void()> run;
  double flops = 0, bytes = 0;      ///< per run
  std::function<double()> error{};  ///< convolutions: relative error of the last run (conv_error())
};

struct Benchmark {
  std::string name;
  std::function<Kernel()> make;
};
using Suite = std::vector<Benchmark>;

/// Arrays of one kernel, allocated by the first call with their index and filled with random numbers or zeros.
class Arrays {
 public:
  float* floats(int index, std::int64_t n);
  template <class T>
  T* zeros(int index, std::int64_t n) {
    return static_cast<T*>(zero_bytes(index, n * static_cast<std::int64_t>(sizeof(T))));
  }

 private:
  void* zero_bytes(int index, std::int64_t bytes);
  std::map<int, std::unique_ptr<Buffer>> arrays_;
};

/// Adds a kernel that runs on Arrays of its own; `flops` is 0 if it is memory traffic.
void add(Suite& suite, std::string name, double bytes, double flops, std::function<void(Arrays&)> run);

void add_convolutions(Suite& suite, const ConvChoices& asked);
void add_flat_kernels(Suite& suite);    ///< activations, elementwise passes, sums over replicas, optimizers
void add_layer_kernels(Suite& suite);   ///< normalization, softmax, losses, dropout, LRN
void add_products(Suite& suite);        ///< dense layers of large weights
void add_window_kernels(Suite& suite);  ///< pooling, depthwise convolution, padding

}  // namespace dptrain::backend::cpu
