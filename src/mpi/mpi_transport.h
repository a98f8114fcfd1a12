#pragma once

// The Transport of a real MPI, through its module. At most one in a process, made and called by one thread.

#include <memory>

#include "mpi/launcher.h"
#include "mpi/transport.h"

namespace dptrain::mpi {

/// Opens the module ("libdptrain_openmpi.so", found as DynamicLibrary says) and joins the others; returns when all have
/// come. Throws Error{kDevice}: no module, or an
/// MPI that does not belong to the launcher.
std::unique_ptr<Transport> open_mpi(const Launch& launch);

}  // namespace dptrain::mpi
