#pragma once

// Speed of summing gradients over devices and processes, for `dptrain devices --p2p`. Main thread.

#include <cstdint>

#include "bench/prediction.h"
#include "distributed/processes.h"
#include "session/devices.h"

namespace dptrain::bench {

struct LinkSpeed {
  std::uint64_t bytes = 0;  ///< per replica
  double seconds = 0;       ///< median time of one all-reduce
  double algorithm_gbps() const { return static_cast<double>(bytes) / seconds * 1e-9; }
  /// Rate of each link in a ring, which carries 2 (n - 1) / n of the bytes.
  double bus_gbps(int replicas) const { return algorithm_gbps() * 2 * (replicas - 1) / replicas; }
};

/// Sums `bytes` of floats over at least two replicas as training would. Throws Error{kDevice} for wrong sums.
LinkSpeed measure_all_reduce(const session::DeviceRequest& request, std::uint64_t bytes, int repeats);

/// Sums over processes with one CPU replica each; collective. Returns the median of the slowest process's times.
LinkSpeed measure_all_reduce(distributed::Processes& processes, std::uint64_t bytes, int repeats);
/// Bandwidth and latency of messages, from sums of few and of many bytes: the inverse of SumAlgorithm::kDirect.
MessageLink message_link(const LinkSpeed& few, const LinkSpeed& many, int processes);

}  // namespace dptrain::bench
