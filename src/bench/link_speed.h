#pragma once

// How fast gradients are summed over devices, and over processes: for `dptrain devices --p2p`. Main thread.

#include <cstdint>

#include "bench/prediction.h"
#include "distributed/processes.h"
#include "session/devices.h"

namespace dptrain::bench {

struct LinkSpeed {
  std::uint64_t bytes = 0;  ///< in every replica
  double seconds = 0;       ///< of one sum over all, the median
  double algorithm_gbps() const { return static_cast<double>(bytes) / seconds * 1e-9; }
  /// What each link carries in a ring: 2 (n - 1) / n of the bytes.
  double bus_gbps(int replicas) const { return algorithm_gbps() * 2 * (replicas - 1) / replicas; }
};

/// Sums `bytes` of floats over the devices through the connector that training would use. At least two replicas. Throws
/// Error{kDevice} where the sums are wrong.
LinkSpeed measure_all_reduce(const session::DeviceRequest& request, std::uint64_t bytes, int repeats);

/// The same over processes of one CPU replica each, which all call it: the median of the slowest of them.
LinkSpeed measure_all_reduce(distributed::Processes& processes, std::uint64_t bytes, int repeats);
/// What messages between so many processes reach, from sums of few and of many bytes: SumAlgorithm::kDirect turned
/// round.
MessageLink message_link(const LinkSpeed& few, const LinkSpeed& many, int processes);

}  // namespace dptrain::bench
