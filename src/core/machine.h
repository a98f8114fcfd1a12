#pragma once

// What of this machine the process may use: containers, job schedulers and taskset leave a part of it. Read anew at
// each call; any thread.

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::machine {

/// Where the system tells; tests give folders of their own.
struct Places {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
  std::string cpu = "/sys/devices/system/cpu";
  std::string huge_pages = "/sys/kernel/mm/transparent_hugepage/enabled";
};

struct Memory {
  std::uint64_t total = 0;  ///< bytes: of the machine, or the lowest limit of the process's control groups
  std::uint64_t available =
      0;  ///< bytes that can still be taken without swapping or meeting a limit; 0: the system does not tell
};

/// A level of the data caches.
struct Cache {
  int level = 1;            ///< 1 is the nearest
  std::uint64_t bytes = 0;  ///< of one of them
  int count = 1;            ///< how many of them the CPUs have that the process may use
  bool operator==(const Cache&) const = default;
  /// Of those that so many threads, each on a CPU of its own and as far apart as can be, reach together.
  std::uint64_t reached_by(int threads) const {
    return bytes * static_cast<std::uint64_t>(threads < count ? threads : count);
  }
};

/// Nearest first. From the system's files; where they are missing, from the C library, which does not say what shares a
/// cache: the first two levels are then one for each CPU, the third is one. Empty where neither tells.
std::vector<Cache> caches(const Places& places = {});

/// CPUs that the affinity mask (taskset, cpusets) allows, ascending.
std::vector<int> allowed_cpus();
/// How many they are, or fewer where a control group's quota gives less time than that: the quota rounded up. At least
/// 1.
int cpus(const Places& places = {});
/// The quota alone, in CPUs; 0: none.
double cpu_quota(const Places& places = {});
/// Control groups of version 1 and 2, those around the process's own too. What a group holds in its page cache counts
/// as free.
Memory memory(const Places& places = {});
/// Whether the system gives huge pages to memory that wishes for them; where it does not tell, it has none.
bool gives_huge_pages(const Places& places = {});

// Which CPUs of this machine are near one another. Read anew at each call; any thread.

/// Of these CPUs those that share the last level of the caches and a NUMA node, one for each core: hardware threads of
/// one core share its arithmetic, too. Ascending, as the groups are by their first. One group of all where the system
/// does not tell.
std::vector<std::vector<int>> core_groups(const Places& places = {}, const std::vector<int>& cpus = allowed_cpus());

/// So many replicas, each of so many threads on CPUs of its own.
struct Layout {
  int threads = 1;
  std::vector<std::vector<int>> cpus{};  ///< of each replica
};

/// One replica for each group; where groups differ in size the largest number of threads that leaves at most a tenth of
/// the cores idle. Of the groups as many as have `most` cores together (cpus(), for a quota).
Layout layout_of(std::vector<std::vector<int>> groups, int most);

/// As the system writes them: "0-3,8".
std::string cpu_list(const std::vector<int>& cpus);

/// The calling thread, and those that it starts, run on these alone. What the system refuses changes nothing: where
/// threads run changes no result.
void bind_thread(const std::vector<int>& cpus) noexcept;

}  // namespace dptrain::machine
