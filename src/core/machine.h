#pragma once

// The part of this machine that the process may use: containers, job schedulers and taskset restrict it. Read anew at
// each call; any thread.

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::machine {

/// System files to read; tests use folders of their own.
struct SystemPaths {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
  std::string cpu = "/sys/devices/system/cpu";
  std::string huge_pages = "/sys/kernel/mm/transparent_hugepage/enabled";
};

struct Memory {
  std::uint64_t total = 0;      ///< bytes: of the machine, or the lowest limit of the process's control groups
  std::uint64_t available = 0;  ///< bytes free without swapping or exceeding a limit; 0: unavailable
};

/// A level of the data caches.
struct Cache {
  int level = 1;            ///< 1 is the nearest
  std::uint64_t bytes = 0;  ///< size of one cache
  int count = 1;            ///< caches of this level that the CPUs of the process have
  bool operator==(const Cache&) const = default;
  /// Bytes that `threads` threads reach together, each on a CPU of its own and as far apart as possible.
  std::uint64_t bytes_for_threads(int threads) const {
    return bytes * static_cast<std::uint64_t>(threads < count ? threads : count);
  }
};

/// Nearest first. Read from the system's files or, without them, from the C library, which does not report sharing.
/// Then each CPU has its own first two levels, and all share the third. Empty if neither reports caches.
std::vector<Cache> caches(const SystemPaths& places = {});

/// CPUs that the affinity mask (taskset, cpusets) allows, ascending.
std::vector<int> allowed_cpus();
/// Number of allowed CPUs, or the rounded-up CPU quota of a control group if that is lower. At least 1.
int cpus(const SystemPaths& places = {});
/// The quota alone, in CPUs; 0: none.
double cpu_quota(const SystemPaths& places = {});
/// Applies the limits of control groups of version 1 and 2, enclosing groups included. Inactive page cache of a group
/// counts as free.
Memory memory(const SystemPaths& places = {});
/// Whether the system supports huge pages on request (madvise); false if it does not report it.
bool has_huge_pages(const SystemPaths& places = {});

// Groups of CPUs that are close to one another. Read anew at each call; any thread.

/// Groups of CPUs that share a last-level cache and a NUMA node, one CPU per core, all in ascending order. One group of
/// all CPUs if the system does not report caches and nodes.
std::vector<std::vector<int>> core_groups(const SystemPaths& places = {},
                                          const std::vector<int>& cpus = allowed_cpus());

/// Replicas with `threads` threads each, on CPUs of their own.
struct Layout {
  int threads = 1;
  std::vector<std::vector<int>> cpus{};  ///< CPUs of each replica
};

/// Fills each group with replicas. Their number of threads is the largest that leaves at most a tenth of the cores
/// idle. Uses the first `most` cores of the groups only (cpus(), for a quota).
Layout layout_of(std::vector<std::vector<int>> groups, int most);

/// In the notation of the system: "0-3,8".
std::string cpu_list(const std::vector<int>& cpus);

/// Binds the calling thread, and the threads that it then starts, to these CPUs. Ignores errors, because
/// results do not depend on the CPUs of threads.
void bind_thread(const std::vector<int>& cpus) noexcept;

}  // namespace dptrain::machine
