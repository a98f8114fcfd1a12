#pragma once

// ModuleApi: table of C functions through which the executable calls MPI. MPI has no common ABI, so a small module is
// built once per installed MPI library. The executable loads the module that matches its launcher. This header is all
// that both share: no MPI types and no C++ types cross the boundary.
//
// Only the thread that called init may call the functions. They return 0 or an MPI error code for `describe`.

#include <cstddef>
#include <cstdint>

namespace dptrain::distributed {

/// Bits of an MPI_Request, opaque to the executable.
using Ticket = std::uint64_t;

/// Incremented with every change of the table.
inline constexpr int kModuleVersion = 1;
inline constexpr const char* kModuleFunction = "dptrain_mpi_module";

struct ModuleApi {
  int version;
  /// MPI_Init_thread, then a duplicate communicator that returns errors.
  int (*init)(int* process, int* processes);
  /// MPI_Finalize. Collective; no message may be in flight.
  int (*finalize)();
  /// Host name and MPI version: the first line, truncated to `size` bytes including the final zero.
  void (*host)(char* text, int size);
  void (*library)(char* text, int size);
  void (*describe)(int code, char* text, int size);
  /// MPI_Isend and MPI_Irecv of at most kMaxMessageBytes bytes. The memory must stay unchanged until test() sets
  /// `done`.
  int (*send)(const void* data, std::size_t bytes, int to, int tag, Ticket* ticket);
  int (*receive)(void* data, std::size_t bytes, int from, int tag, Ticket* ticket);
  /// MPI_Test. The ticket is invalid once `done` is set. `bytes`: size of a received message.
  int (*test)(Ticket* ticket, int* done, std::size_t* bytes);
};

/// MPI counts are ints, so large messages are counted in floats.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{0x7fffffff} * 4;

using ModuleFunction = const ModuleApi* (*)();

}  // namespace dptrain::distributed
