#pragma once

// Exchange: something that several processes do together, as the communication thread drives it. Whoever wants it done
// hands it to Processes::post and waits in a way of its own.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "mpi/module/api.h"

namespace dptrain::mpi {

// Transport: messages between the processes of a run, none of which waits. One thread, the one that made it, calls it.
// Messages of one tag between two processes arrive in the order in which they were sent.

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

/// Tags of messages; what is not here may use kFirstFree and more, up to kMostTag, which every MPI has.
enum Tag : int {
  kNews = 1,
  kGatherHead,
  kGatherRest,
  kLanesHead,
  kLanesRest,
  kFirstFree = 16,
  kMostTag = 32767,
};

class Exchange {
 public:
  enum class Progress {
    kWaits,  ///< nothing has moved since the last call
    kMoved,
    kDone,  ///< the thread does not call it again and releases it
  };

  virtual ~Exchange() = default;
  /// Called again and again on the communication thread, which flushes subnormals. An exception ends all processes.
  virtual Progress advance(Transport& transport) = 0;
  /// Instead of all that would come: another process has failed, or this one. Whoever waits for it is to be woken. On
  /// the communication thread. Messages may still be under way from and to its memory.
  virtual void give_up(const Error& why) noexcept = 0;
};

}  // namespace dptrain::mpi
