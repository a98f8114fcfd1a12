#pragma once

// Which processes share memory. Pure.

#include <string>
#include <vector>

namespace dptrain::mpi {

/// Groups of processes with neighbouring numbers that all reach each other's memory, as large as they can be made from
/// process 0 on: the first process of each and, behind them, the number of all. `reach[p][q]` is '1' where process p
/// reaches the memory of q.
std::vector<int> memory_groups(const std::vector<std::string>& reach);

}  // namespace dptrain::mpi
