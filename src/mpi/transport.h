#pragma once

// Transport: messages between the processes of a run, none of which waits. One thread, the one that made it, calls it.
// Messages of one tag between two processes arrive in the order in which they were sent.

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/module/api.h"

namespace dptrain::mpi {

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int process() const = 0;
  virtual int processes() const = 0;
  virtual std::string host() const = 0;     ///< of this process
  virtual std::string library() const = 0;  ///< "Open MPI v4.1.4, ..."
  /// Whether processes that can are to share memory beside it; the same in all.
  virtual bool shares_memory() const = 0;

  /// The memory stays as it is, and alive, until done(). All throw Error{kDevice}.
  virtual Ticket send(const void* data, std::size_t bytes, int to, int tag) = 0;
  virtual Ticket receive(void* data, std::size_t bytes, int from, int tag) = 0;
  /// Once it says yes the ticket is gone.
  virtual bool done(Ticket& ticket) = 0;
  /// When nothing is under way, in all processes. Not called: the process ends without it.
  virtual void finalize() = 0;
};

}  // namespace dptrain::mpi
