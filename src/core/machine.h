#pragma once

// What of this machine the process may use: containers, job schedulers and taskset leave a part of it. Read anew at
// each call; any thread.

#include <cstdint>
#include <string>

namespace dptrain::machine {

/// Where the system tells; tests give folders of their own.
struct Places {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

struct Memory {
  std::uint64_t total = 0;  ///< bytes: of the machine, or the lowest limit of the process's control groups
  std::uint64_t available =
      0;  ///< bytes that can still be taken without swapping or meeting a limit; 0: the system does not tell
};

/// CPUs that the affinity mask (taskset, cpusets) allows, or fewer where a control group's quota gives less time than
/// that: the quota rounded up. At least 1.
int cpus(const Places& places = {});
/// The quota alone, in CPUs; 0: none.
double cpu_quota(const Places& places = {});
/// Control groups of version 1 and 2, those around the process's own too. What a group holds in its page cache counts
/// as free.
Memory memory(const Places& places = {});

}  // namespace dptrain::machine
