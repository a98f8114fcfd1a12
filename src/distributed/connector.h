#pragma once

// Factories of runtime::Connector implementations. The CPU ones are built in. NCCL is loaded on first use
// (nccl_connector.h). Call them on the main thread.

#include <memory>

#include "runtime/replica_set.h"

namespace dptrain::distributed {

class Processes;
struct RankLayout;

/// Connects `ranks` CPU replicas of this process. Gradients are summed in the order of kernels/sum_tree.h, during
/// backward. Each replica sums its own part of every bucket.
std::unique_ptr<runtime::Connector> make_local(int ranks);

/// As make_local(), for devices with streams that share one memory: several replicas on one GPU, or the emulator's.
std::unique_ptr<runtime::Connector> make_local_streams(int ranks);

/// Connects the CPU replicas of several processes. If all share memory, replicas sum as with make_local(). Otherwise
/// the communication threads sum buckets during backward through MPI (bucket_sum.h). The bits of a sum do not depend on
/// how ranks are distributed. `processes` outlives the connector.
std::unique_ptr<runtime::Connector> make_processes(const RankLayout& rank_layout, Processes& processes);

}  // namespace dptrain::distributed
