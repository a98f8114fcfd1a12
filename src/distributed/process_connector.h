#pragma once

// CPU replicas in several processes, joined by MPI. As with one process every bucket is summed while backward goes on,
// here by the communication thread (bucket_sum.h), and sums have the same bits however the replicas are spread.

#include <memory>

#include "distributed/bucket_sum.h"
#include "distributed/processes.h"
#include "runtime/replica_set.h"

namespace dptrain::distributed {

/// The replicas of this process among those of all; `seats` is the same in all of them but for the process's own
/// number. `processes` outlives the connector.
std::unique_ptr<runtime::Connector> make_processes(const Seats& seats, Processes& processes);

}  // namespace dptrain::distributed
