#pragma once

// Limits of the processor with a number of threads all busy: multiply-adds, and bandwidths of the caches and of memory.
// Measured by the first call and kept for the process; other programs lower them while they run. Any thread that is not
// inside a piece (kernels/cpu/thread_pool.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dptrain::backend {

/// A level of the caches, or memory.
struct MemoryLevel {
  std::string name;                      ///< "L1", "memory"
  std::optional<std::uint64_t> bytes{};  ///< capacity for all threads together; nullopt: unlimited
  double read_gbps = 0;                  ///< 1e9 bytes per second of all threads together, reading
  double update_gbps = 0;                ///< updating in place; counts the read and the write

  double best_gbps() const { return read_gbps > update_gbps ? read_gbps : update_gbps; }
};

struct CpuLimits {
  int threads = 1;
  double peak_gflops = 0;  ///< fp32, a fused multiply-add counts 2
  /// Nearest first; bandwidths do not increase. Empty if the system does not report the sizes of its caches. Memory is
  /// missing if too little of it is free to exceed the caches.
  std::vector<MemoryLevel> levels{};

  /// The nearest level that holds so many bytes; null: none.
  const MemoryLevel* level_of(double bytes) const;
  /// The limits of some of the threads while all are busy.
  CpuLimits share(int of_threads) const;
};

/// The first call takes about 0.2 s.
const CpuLimits& cpu_limits(int threads);
/// CpuLimits::peak_gflops alone. The first call takes 20 ms.
double cpu_peak_gflops(int threads);

}  // namespace dptrain::backend
