#pragma once

// What the kernel benchmarks are made of: names and how to make what runs, so that memory is only taken by the one that
// runs. Filled and used on one thread.

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
  double flops = 0, bytes = 0;      ///< of one run
  std::function<double()> error{};  ///< convolutions: of what run() wrote, against double (convolutions.cpp)
};

struct Benchmark {
  std::string name;
  std::function<Kernel()> make;
};
using Suite = std::vector<Benchmark>;

/// Arrays of one kernel, filled with random numbers when they are first asked for.
class Room {
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

/// A kernel that is memory traffic (`flops` 0) or not, on arrays of a Room.
void add(Suite& suite, std::string name, double bytes, double flops, std::function<void(Room&)> run);

void add_convolutions(Suite& suite, const ConvChoices& asked);
void add_flat_kernels(Suite& suite);    ///< activations, elementwise passes, sums over replicas, optimizers
void add_layer_kernels(Suite& suite);   ///< normalisation, softmax, losses, dropout, LRN
void add_products(Suite& suite);        ///< dense layers of large weights
void add_window_kernels(Suite& suite);  ///< pooling, depthwise convolution, padding

}  // namespace dptrain::backend::cpu
