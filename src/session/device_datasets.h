#pragma once

// Data sets whose batches the devices make: data sets in memory with transforms that the device supports. The loader
// then passes only the indices of a batch's samples, or the unconverted samples. Also computes the device memory for
// this. Main thread.

#include <string>
#include <vector>

#include "runtime/replica_set.h"
#include "session/session_data.h"

namespace dptrain::session {

/// Device memory for a data set.
struct DatasetMemory {
  std::string name;           ///< "train"
  bool resident = false;      ///< all samples stay on the device; otherwise each batch is copied
  std::uint64_t samples = 0;  ///< bytes of resident samples
  std::uint64_t working = 0;  ///< largest number of bytes for making batches
};

/// The memory that add_device_datasets would use in a replica with `free` bytes left. Omits data sets whose batches the
/// loader makes.
std::vector<DatasetMemory> device_dataset_memory(const experiment::Experiment& experiment, backend::DeviceKind kind,
                                                 std::int64_t global_batch, std::uint64_t free,
                                                 const SessionData& data);

/// Adds each suitable data set of `data` to the replicas and changes its loader; `runtime.resident: off` leaves all of
/// them unchanged. Returns a line for each added set: "train resident (45 MiB)". Throws Error{kMemory}.
std::vector<std::string> add_device_datasets(const experiment::Experiment& experiment, const DeviceRequest& devices,
                                             std::int64_t global_batch, SessionData& data,
                                             runtime::ReplicaSet& replicas);

}  // namespace dptrain::session
