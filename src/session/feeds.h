#pragma once

// Data sets whose batches the devices make: those that lie in memory, with transforms that the device knows. The loader
// then only says which samples a batch has, or brings them as they are; and what that takes of a device's memory. Main
// thread.

#include <string>
#include <vector>

#include "replica/replica_set.h"
#include "session/session_data.h"

namespace dptrain::session {

/// What a device keeps of a data set.
struct FeedMemory {
  std::string name;           ///< "train"
  bool resident = false;      ///< all samples stay there; else they come batch by batch
  std::uint64_t samples = 0;  ///< bytes of what stays
  std::uint64_t working = 0;  ///< bytes, at most, in which batches are made
};

/// What feed_devices would have a replica keep that has so much memory left. Sets that the loader makes batches of are
/// left out.
std::vector<FeedMemory> feed_memory(const experiment::Experiment& experiment, backend::DeviceKind kind,
                                    std::int64_t global_batch, std::uint64_t free, const SessionData& data);

/// Hands the sets of `data` over to the replicas and changes their loaders, where that can be done; `runtime.resident:
/// off` leaves all to the loaders. Gives a line for each that is handed over: "train resident (45 MiB)". Throws
/// Error{kMemory}.
std::vector<std::string> feed_devices(const experiment::Experiment& experiment, const DeviceRequest& devices,
                                      std::int64_t global_batch, SessionData& data, replica::ReplicaSet& replicas);

}  // namespace dptrain::session
