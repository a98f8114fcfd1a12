#include "mpi/memory_groups.h"

#include "core/index.h"

namespace dptrain::mpi {

std::vector<int> memory_groups(const std::vector<std::string>& reach) {
  const int processes = static_cast<int>(reach.size());
  std::vector<int> firsts;
  const auto belongs = [&](int process) {
    for (int other = firsts.back(); other < process; ++other)
      if (reach[at(other)][at(process)] != '1' || reach[at(process)][at(other)] != '1') return false;
    return true;
  };
  for (int p = 0; p < processes; ++p)
    if (firsts.empty() || !belongs(p)) firsts.push_back(p);
  firsts.push_back(processes);
  return firsts;
}

}  // namespace dptrain::mpi
