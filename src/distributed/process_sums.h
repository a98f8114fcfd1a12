#pragma once

// All-gather of a step's per-replica sums over all processes, in rank order. Used by connectors across processes. All
// processes call it on the thread that collects. Throws Error if a process has failed.

#include <cstdint>
#include <vector>

#include "distributed/processes.h"
#include "runtime/replica.h"

namespace dptrain::distributed {

std::vector<runtime::StepSums> sums_of_all(Processes& processes, const std::vector<runtime::StepSums>& local_values);
std::vector<std::uint64_t> numbers_of_all(Processes& processes, const std::vector<std::uint64_t>& local_values);

}  // namespace dptrain::distributed
