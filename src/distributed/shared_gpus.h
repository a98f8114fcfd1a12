#pragma once

// Replicas on several GPUs of which some hold more than one: those of one GPU sum in its memory (local_streams.cpp),
// then the first of each GPU, its speaker, sums with the other speakers over NCCL, and the others copy what it has.
// NCCL begins when a step's buckets are all summed on the GPU: none of it is hidden behind backward.
//
// Call it on the main thread, as make_nccl().

#include <memory>
#include <vector>

#include "distributed/nccl_connector.h"

namespace dptrain::distributed {

/// A replica for each of these GPUs, in this order; any may be named several times, and at least two are named. Not
/// with tree_order: replicas would have to be added in their own order. Throws Error{kDevice}: no libnccl.so.2.
std::unique_ptr<runtime::Connector> make_shared_gpus(const std::vector<int>& gpus, const NcclOptions& options,
                                                     const nccl::Api& api = nccl::library());

}  // namespace dptrain::distributed
