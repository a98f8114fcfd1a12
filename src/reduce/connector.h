#pragma once

// Makers of what connects replicas (replica::Connector). The in-process one is built in; NCCL and MPI follow behind the
// same interface, each in one .cpp chosen by CMake.

#include <memory>

#include "replica/replica_set.h"

namespace dptrain::reduce {

/// `ranks` replicas in this process on the CPU. Gradients are summed in rank order whatever the timing; each replica sums
/// its share of every bucket, so the work is even, and buckets are summed while backward goes on.
std::unique_ptr<replica::Connector> make_local(int ranks);

}  // namespace dptrain::reduce
