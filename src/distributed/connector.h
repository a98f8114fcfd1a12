#pragma once

// Makers of what connects replicas (runtime::Connector). Those on CPUs are built in; NCCL is opened when it is
// asked for (nccl_connector.h). Call them on the main thread.

#include <memory>

#include "runtime/replica_set.h"

namespace dptrain::distributed {

class Processes;
struct Seats;

/// `ranks` replicas in this process on the CPU. Gradients are summed in the order of kernels/sum_tree.h; each replica
/// sums its share of every bucket, so the work is even, and buckets are summed while backward goes on.
std::unique_ptr<runtime::Connector> make_local(int ranks);

/// The same for devices that share one memory and have streams: several replicas on one GPU, or the emulator's.
std::unique_ptr<runtime::Connector> make_local_streams(int ranks);

/// CPU replicas in several processes, joined by MPI: those of this process among those of all. Every bucket is summed
/// while backward goes on, by the communication thread (bucket_sum.h); sums have the same bits however the replicas are
/// spread. `seats` is the same in all processes but for the process's own number. `processes` outlives the connector.
std::unique_ptr<runtime::Connector> make_processes(const Seats& seats, Processes& processes);

}  // namespace dptrain::distributed
