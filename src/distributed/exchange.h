#pragma once

// Exchange: an operation that several processes perform together and that the communication thread drives. The caller
// starts it with Processes::post; the Exchange itself must signal its end to waiting threads.

#include <cstddef>
#include <string>

#include "core/error.h"
#include "distributed/mpi/api.h"

namespace dptrain::distributed {

// Transport: non-blocking messages between the processes of a run. Only the thread that made it calls it. Messages with
// the same tag between two processes arrive in the order in which they were sent.

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int process() const = 0;
  virtual int processes() const = 0;
  virtual std::string host() const = 0;     ///< host name of this process
  virtual std::string library() const = 0;  ///< "Open MPI v4.1.4, ..."
  /// Whether processes that can share memory do so in addition to sending messages. All processes return the same
  /// value.
  virtual bool shares_memory() const = 0;

  /// The caller keeps the memory alive and unchanged until done(). All throw Error{kDevice}.
  virtual Ticket send(const void* data, std::size_t bytes, int to, int tag) = 0;
  virtual Ticket receive(void* data, std::size_t bytes, int from, int tag) = 0;
  /// Whether the operation is complete. After true the ticket is invalid.
  virtual bool done(Ticket& ticket) = 0;
  /// Called in all processes when no message is pending. Without it the process ends without MPI_Finalize.
  virtual void finalize() = 0;
};

/// Message tags. Other messages use kFirstFree to kMaxTag, which every MPI supports.
enum Tag : int {
  kStatus = 1,
  kGatherHead,
  kGatherRest,
  kAllGatherHead,
  kAllGatherRest,
  kFirstFree = 16,
  kMaxTag = 32767,
};

class Exchange {
 public:
  enum class Progress {
    kWaits,  ///< no progress since the last call
    kMoved,
    kDone,  ///< the thread does not call it again and releases it
  };

  virtual ~Exchange() = default;
  /// Called repeatedly on the communication thread, which flushes subnormals. An exception ends all processes.
  virtual Progress advance(Transport& transport) = 0;
  /// Replaces all further calls of advance() after a failure of any process. Called on the communication thread, or by
  /// Processes::post() after the failure. Must wake waiting threads. Messages to and from its memory may be pending.
  virtual void cancel(const Error& why) noexcept = 0;
};

}  // namespace dptrain::distributed
