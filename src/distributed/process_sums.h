#pragma once

// A step's sums of the replicas of all processes, by rank, from those of each: what connectors across processes share.
// Called on the thread that collects, in all processes alike. Throws Error when a process has failed.

#include <cstdint>
#include <vector>

#include "distributed/processes.h"
#include "runtime/replica.h"

namespace dptrain::distributed {

std::vector<runtime::StepSums> sums_of_all(Processes& processes, const std::vector<runtime::StepSums>& of_lanes);
std::vector<std::uint64_t> numbers_of_all(Processes& processes, const std::vector<std::uint64_t>& of_lanes);

}  // namespace dptrain::distributed
