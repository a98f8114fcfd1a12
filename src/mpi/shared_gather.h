#pragma once

// SharedGather: every member gives some bytes and gets those of all, through shared memory. Members are threads, of any
// process; all gather alike, in the same order, one thread of a member at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "mpi/shared_meeting.h"

namespace dptrain::mpi {

class SharedGather {
 public:
  /// Of the memory that so many members need; zeros at first.
  static std::size_t bytes(int members);
  /// `memory`: on a cache line, the same for all members; outlives this.
  SharedGather(std::byte* memory, int members, int member);

  /// Asked once for each member, in order: where its so many bytes are wanted.
  using Place = std::function<std::byte*(int member, std::size_t bytes)>;
  /// `check`: as SharedMeeting::wait.
  void gather(const void* mine, std::size_t bytes, const Place& place, const std::function<void()>& check);

 private:
  /// What is larger goes in several rounds.
  static constexpr std::size_t kRoundBytes = std::size_t{128} << 10;
  /// Two sets that take turns: a member that is in round r + 2 has seen all others in round r + 1, hence done with the
  /// set of round r.
  struct Slot {
    SharedCounter gave;
    std::size_t bytes[2];  ///< of all rounds together
    alignas(64) std::byte given[2][kRoundBytes];
  };

  SharedMeeting meeting_;
  Slot* const slots_;  ///< by member
  const int members_, member_;
  std::uint64_t rounds_ = 0;
};

}  // namespace dptrain::mpi
