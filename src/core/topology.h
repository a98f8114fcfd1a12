#pragma once

// Which CPUs of this machine are near one another. Read anew at each call; any thread.

#include <string>
#include <vector>

#include "core/machine.h"

namespace dptrain::machine {

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
