#pragma once

// Replicas on GPUs of their own, joined by NCCL. Sums are deterministic (see make_nccl); an error or a silence of one
// rank ends all. Call make_nccl on the main thread, before other threads run: it sets environment variables.

#include <memory>
#include <vector>

#include "distributed/bucket_sum.h"
#include "distributed/nccl_api.h"
#include "distributed/processes.h"
#include "runtime/replica_set.h"

namespace dptrain::distributed {

struct NcclOptions {
  /// Rings and trees in any protocol: the order of additions is then a function of the ranks, the links between them
  /// and the size of the sum, as is NCCL's choice among them. No sums inside the NVLink switch (NVLS), which may differ
  /// from call to call, and no buffers registered for graphs, so that recorded sums take the way of others. NCCL_ALGO,
  /// NCCL_NVLS_ENABLE, NCCL_GRAPH_REGISTER are left alone where the user has set them. NCCL_PROTO always is: to name
  /// LL128 would allow it where NCCL has not tried it.
  bool deterministic = true;
  /// Instead every rank gathers all ranks' gradients, bucket by bucket, and adds them in the order of
  /// kernels/sum_tree.h: as many times the traffic as half the ranks, and room for the largest bucket of every rank.
  bool tree_order = false;
  /// What is sent and added are gradients rounded to bfloat16, half the traffic; statistics stay float32. Not with
  /// tree_order.
  bool sums_in_bfloat16 = false;
  double watchdog_seconds = 60;     ///< the longest silence within a step: Error{kDeadline}
  double first_step_seconds = 600;  ///< the same until the first step is done: kernels are loaded, ranks connect
};

/// The other processes of a run over NCCL. Outlives the connector.
struct NcclTogether {
  const Seats& seats;
  Processes& processes;
};

/// One rank for each of these GPUs, in this order. Throws Error{kDevice}: a GPU named twice, no libnccl.so.2.
std::unique_ptr<runtime::Connector> make_nccl(const std::vector<int>& gpus, const NcclOptions& options,
                                              const nccl::Api& api = nccl::library());
/// The same in each of several processes: ranks as seated, one communicator for all, whose id process 0 makes.
std::unique_ptr<runtime::Connector> make_nccl(const std::vector<int>& gpus, const NcclOptions& options,
                                              const NcclTogether& together, const nccl::Api& api = nccl::library());

/// A replica for each of these GPUs, in this order; any may be named several times, and at least two are named. The
/// replicas of one GPU sum in its memory, then the first of each GPU sums with the others over NCCL (shared_gpus.cpp).
/// Not with tree_order: replicas would have to be added in their own order. Throws Error{kDevice}: no libnccl.so.2.
std::unique_ptr<runtime::Connector> make_shared_gpus(const std::vector<int>& gpus, const NcclOptions& options,
                                                     const nccl::Api& api = nccl::library());

}  // namespace dptrain::distributed
