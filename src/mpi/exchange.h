#pragma once

// Exchange: something that several processes do together, as the communication thread drives it. Whoever wants it done
// hands it to Processes::post and waits in a way of its own.

#include "core/error.h"
#include "mpi/transport.h"

namespace dptrain::mpi {

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
