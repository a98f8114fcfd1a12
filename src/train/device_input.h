#pragma once

// Data sets whose batches the devices make: those that lie in memory, with transforms that the device knows. The loader then
// only says which samples a batch has, or brings them as they are. Main thread.

#include <string>
#include <vector>

#include "replica/replica_set.h"
#include "train/session_data.h"

namespace dptrain::train {

/// Hands the sets of `data` over to the replicas and changes their loaders, where that can be done; `runtime.resident: off`
/// leaves all to the loaders. Gives a line for each that is handed over: "train resident (45 MiB)". Throws Error{kMemory}.
std::vector<std::string> feed_devices(const Experiment& experiment, const DeviceRequest& devices,
                                      std::int64_t global_batch, SessionData& data, replica::ReplicaSet& replicas);

}  // namespace dptrain::train
