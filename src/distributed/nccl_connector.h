#pragma once

// Connectors of replicas on GPUs, joined by NCCL. Sums are deterministic by default (NcclOptions). An error or a missed
// deadline of one rank aborts all. Call make_nccl on the main thread before other threads start, because it sets
// environment variables.

#include <memory>
#include <vector>

#include "distributed/bucket_sum.h"
#include "distributed/nccl_api.h"
#include "distributed/processes.h"
#include "runtime/replica_set.h"

namespace dptrain::distributed {

struct NcclOptions {
  /// Allows only rings and trees, so the order of additions depends on the ranks, their links and the size. Disables
  /// NVLS, which may differ from call to call, and registered buffers, so that recorded sums use the same algorithms.
  /// Respects NCCL_ALGO, NCCL_NVLS_ENABLE and NCCL_GRAPH_REGISTER. NCCL_PROTO is not set: it could enable LL128 where
  /// NCCL avoids it.
  bool deterministic = true;
  /// Every rank gathers the gradients of all ranks, bucket by bucket, and adds them in the order of kernels/sum_tree.h.
  /// Costs ranks / 2 times the traffic, and memory for the largest bucket of every rank.
  bool tree_order = false;
  /// Gradients are sent and added in bfloat16: half the traffic. Statistics stay float32. Not with tree_order.
  bool sums_in_bfloat16 = false;
  double watchdog_seconds = 60;     ///< longest time without progress within a step: Error{kDeadline}
  double first_step_seconds = 600;  ///< the same limit for the first step, which loads kernels and connects ranks
};

/// The processes of a run over NCCL. `processes` outlives the connector.
struct NcclProcesses {
  const RankLayout& rank_layout;
  Processes& processes;
};

/// One rank per GPU, in this order. Throws Error{kDevice} if a GPU occurs twice or libnccl.so.2 is missing.
std::unique_ptr<runtime::Connector> make_nccl(const std::vector<int>& gpus, const NcclOptions& options,
                                              const nccl::Api& api = nccl::library());
/// As above in each of several processes, with the ranks of `rank_layout`. Process 0 creates the communicator ids.
std::unique_ptr<runtime::Connector> make_nccl(const std::vector<int>& gpus, const NcclOptions& options,
                                              const NcclProcesses& peers, const nccl::Api& api = nccl::library());

/// One replica per entry, in this order; at least two different GPUs. The replicas of one GPU sum in its memory, then
/// the leader of each GPU sums over NCCL, so tree_order is not supported. Throws Error{kDevice} without libnccl.so.2.
std::unique_ptr<runtime::Connector> make_shared_gpus(const std::vector<int>& gpus, const NcclOptions& options,
                                                     const nccl::Api& api = nccl::library());

}  // namespace dptrain::distributed
