#pragma once

// Transport on an MPI library, loaded through its module. At most one per process; one thread makes and calls it.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "distributed/exchange.h"

namespace dptrain::distributed {

// How this process was started, read from environment variables: Open MPI's mpirun, an mpiexec of the MPICH family, or
// srun. Has no side effects.

struct Launch {
  std::string library;  ///< module to open: "openmpi", "mpich" or "abi"
  int processes = 0;    ///< number from the launcher; 0: unknown
  bool shares_memory = true;
};

/// Empty if no launcher started this process, or if it is the only one. DPTRAIN_MPI=openmpi|mpich|abi selects the
/// library; DPTRAIN_MPI=none ignores the launcher. DPTRAIN_SHARED_MEMORY=none sends everything through MPI. Throws
/// Error{kUsage} if a launcher started several processes that cannot find each other.
std::optional<Launch> find_launch(const std::function<const char*(const char* name)>& environment);

/// Opens the module ("libdptrain_openmpi.so", searched as DynamicLibrary documents) and returns when all processes have
/// joined. Throws Error{kDevice} if there is no module, or if the MPI does not match the launcher.
std::unique_ptr<Transport> open_mpi(const Launch& launch);

}  // namespace dptrain::distributed
