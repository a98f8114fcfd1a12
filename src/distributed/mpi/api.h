#pragma once

// What a module gives the executable: MPI's calls in a table of plain functions. MPI is an interface of sources, its
// types differ from library to library; so the calls stand in a small library of their own, built once against each MPI
// that is there, and the executable opens the one that belongs to the launcher that started it. This header is all that
// both sides share: no type of MPI, no C++ across the border.
//
// All functions are called by one thread, the one that called init. They return 0 or an error code of MPI for
// `describe`.

#include <cstddef>
#include <cstdint>

namespace dptrain::distributed {

/// An MPI_Request, whose bits the executable only keeps.
using Ticket = std::uint64_t;

/// Grows with every change of the table.
inline constexpr int kModuleVersion = 1;
inline constexpr const char* kModuleFunction = "dptrain_mpi_module";

struct ModuleApi {
  int version;
  /// MPI_Init_thread and a communicator of our own, with errors returned.
  int (*init)(int* process, int* processes);
  /// MPI_Finalize: all processes, with nothing under way.
  int (*finalize)();
  /// Of this machine, and of the library: one line each, cut to `size` with its final zero.
  void (*host)(char* text, int size);
  void (*library)(char* text, int size);
  void (*describe)(int code, char* text, int size);
  /// MPI_Isend and MPI_Irecv of bytes, at most kMostBytes. The memory stays as it is until done() says so.
  int (*send)(const void* data, std::size_t bytes, int to, int tag, Ticket* ticket);
  int (*receive)(void* data, std::size_t bytes, int from, int tag, Ticket* ticket);
  /// MPI_Test. When it is done the ticket is worth nothing any more; `bytes` is what has come, of a receive.
  int (*test)(Ticket* ticket, int* done, std::size_t* bytes);
};

/// MPI counts in ints; larger messages are counted in floats.
inline constexpr std::size_t kMostBytes = std::size_t{0x7fffffff} * 4;

using ModuleFunction = const ModuleApi* (*)();

}  // namespace dptrain::distributed
