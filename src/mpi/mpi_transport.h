#pragma once

// The Transport of a real MPI, through its module. At most one in a process, made and called by one thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "mpi/exchange.h"

namespace dptrain::mpi {

// What the environment says of who started this process: mpirun of Open MPI, mpiexec of MPICH and its kin, srun. Pure
// but for getenv.

struct Launch {
  std::string library;  ///< whose module to open: "openmpi", "mpich", "abi"
  int processes = 0;    ///< as the launcher says; 0: it does not
  bool shares_memory = true;
};

/// Nothing where no launcher started this process, or it alone. DPTRAIN_MPI=openmpi|mpich|abi names the library,
/// DPTRAIN_MPI=none passes the launcher over; DPTRAIN_SHARED_MEMORY=none leaves all to MPI. Throws Error{kUsage} where
/// a launcher started several processes that cannot find each other.
std::optional<Launch> find_launch(const std::function<const char*(const char* name)>& environment);

/// Opens the module ("libdptrain_openmpi.so", found as DynamicLibrary says) and joins the others; returns when all have
/// come. Throws Error{kDevice}: no module, or an
/// MPI that does not belong to the launcher.
std::unique_ptr<Transport> open_mpi(const Launch& launch);

}  // namespace dptrain::mpi
