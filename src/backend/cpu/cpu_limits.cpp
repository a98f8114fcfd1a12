#include "backend/cpu_limits.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>

#include "core/format.h"
#include "core/machine.h"
#include "core/memory.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/thread_pool.h"

namespace dptrain::backend {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;  // limits of the buffer for measuring memory
constexpr std::uint64_t kMinBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kStep = 4096;  // each thread's part is a multiple: whole pages

/// Held by a measurement, because concurrent ones would slow each other down.
std::mutex& measuring() {
  static std::mutex mutex;
  return mutex;
}

/// Sets the calling thread's number of threads, and restores it.
class Threads {
 public:
  explicit Threads(int count) : before_(kernels::cpu::thread_count()) { kernels::cpu::set_thread_count(count); }
  ~Threads() { kernels::cpu::set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  const int before_;
};

/// `level` with its bandwidths; nullopt if the memory cannot be allocated.
std::optional<MemoryLevel> measured(MemoryLevel level, std::uint64_t bytes_of_thread, int threads) {
  const std::uint64_t bytes = bytes_of_thread / kStep * kStep;
  if (bytes == 0) return std::nullopt;
  try {
    const MappedMemory memory(bytes * static_cast<std::uint64_t>(threads));
    const kernels::cpu::Bandwidth found = kernels::cpu::measure_bandwidth(
        static_cast<float*>(memory.data()), static_cast<std::int64_t>(bytes / sizeof(float)));
    level.read_gbps = found.read;
    level.update_gbps = found.update;
    return level;
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

std::vector<MemoryLevel> measure_levels(int threads) {
  std::vector<MemoryLevel> levels;
  const auto each = static_cast<std::uint64_t>(threads);
  std::uint64_t nearer = 0;  // bytes of the previous level
  for (const machine::Cache& cache : machine::caches()) {
    const std::uint64_t bytes = cache.bytes_for_threads(threads);
    // Half of the level, so that other data does not evict it, but more than the previous level holds.
    const std::uint64_t used = std::max(bytes / 2, nearer + nearer / 2);
    if (used >= bytes) continue;  // hardly larger than the previous level
    nearer = bytes;
    if (auto level = measured({.name = fmt::format("L{}", cache.level), .bytes = bytes}, used / each, threads))
      levels.push_back(*level);
  }
  const std::uint64_t available = machine::memory().available;  // 0: not reported
  const std::uint64_t most = available > 0 ? std::min(kMaxBytes, available / 4) : kMaxBytes;
  const std::uint64_t used = std::min(most, std::max(kMinBytes, 3 * nearer));
  if (!levels.empty() && used >= nearer + nearer / 2)
    if (auto memory = measured({.name = "memory"}, used / each, threads)) levels.push_back(*memory);
  // Corrects measurements that other programs have slowed down: a nearer level is not slower.
  for (std::size_t i = levels.size(); i-- > 1;) {
    levels[i - 1].read_gbps = std::max(levels[i - 1].read_gbps, levels[i].read_gbps);
    levels[i - 1].update_gbps = std::max(levels[i - 1].update_gbps, levels[i].update_gbps);
  }
  return levels;
}

double known_peak(int threads) {
  static std::map<int, double> known;
  const auto [entry, is_new] = known.try_emplace(threads, 0);
  if (is_new) {
    const Threads busy(threads);
    entry->second = kernels::cpu::measure_fma_peak_gflops_of_all_threads();
  }
  return entry->second;
}

}  // namespace

const MemoryLevel* CpuLimits::level_of(double set) const {
  for (const MemoryLevel& level : levels)
    if (!level.bytes || set <= static_cast<double>(*level.bytes)) return &level;
  return nullptr;
}

CpuLimits CpuLimits::share(int of_threads) const {
  const double part = static_cast<double>(of_threads) / threads;
  CpuLimits out = *this;
  out.threads = of_threads;
  out.peak_gflops *= part;
  for (MemoryLevel& level : out.levels) {
    if (level.bytes) level.bytes = static_cast<std::uint64_t>(static_cast<double>(*level.bytes) * part);
    level.read_gbps *= part;
    level.update_gbps *= part;
  }
  return out;
}

double cpu_peak_gflops(int threads) {
  const std::lock_guard lock(measuring());
  return known_peak(threads);
}

const CpuLimits& cpu_limits(int threads) {
  static std::map<int, CpuLimits> known;  // entries keep their addresses
  const std::lock_guard lock(measuring());
  const auto [entry, is_new] = known.try_emplace(threads);
  if (is_new) {
    const double peak = known_peak(threads);
    const Threads busy(threads);
    entry->second = {.threads = threads, .peak_gflops = peak, .levels = measure_levels(threads)};
  }
  return entry->second;
}

}  // namespace dptrain::backend
