#pragma once

// What so many threads of this machine's processor do at most, all at once: multiply-adds, and bytes from each cache
// and from memory. Measured when it is first asked for, then kept as long as the process; any thread, none of whose
// work is under way. What stands in it is a limit of what was measured, on a machine as busy as it was then.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dptrain::backend {

/// A cache, or memory behind them all.
struct MemoryLevel {
  std::string name;  ///< "L1", "memory"
  /// That the threads reach together; none: more than anybody asks for.
  std::optional<std::uint64_t> bytes{};
  double read_gbps = 0;    ///< 1e9 bytes a second of all threads together that only read
  double update_gbps = 0;  ///< that write again what they have read, in its place; both ways count

  double best_gbps() const { return read_gbps > update_gbps ? read_gbps : update_gbps; }
};

struct CpuLimits {
  int threads = 1;
  double peak_gflops = 0;  ///< fp32, a fused multiply-add counts 2
  /// Nearest first; none is slower than the one behind it. Empty where the system does not say how large its caches
  /// are: what is measured then is the cache's rate or memory's, and nobody knows which. Without memory where there is
  /// too little of it left to leave the caches.
  std::vector<MemoryLevel> levels{};

  /// The nearest that holds so many bytes; null where none is known to.
  const MemoryLevel* level_of(double bytes) const;
  /// What some of the threads have of it while all are busy.
  CpuLimits share(int of_threads) const;
};

/// Takes about 0.2 s.
const CpuLimits& cpu_limits(int threads);
/// CpuLimits::peak_gflops alone. Takes 20 ms.
double cpu_peak_gflops(int threads);

}  // namespace dptrain::backend
