#include "mpi/shared_gather.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace dptrain::mpi {

std::size_t SharedGather::bytes(int members) {
  return sizeof(SharedMeeting::Place) + static_cast<std::size_t>(members) * sizeof(Slot);
}

SharedGather::SharedGather(std::byte* memory, int members, int member)
    : meeting_(*reinterpret_cast<SharedMeeting::Place*>(memory)),
      slots_(reinterpret_cast<Slot*>(memory + sizeof(SharedMeeting::Place))),
      members_(members),
      member_(member) {}

void SharedGather::gather(const void* mine, std::size_t bytes, const Place& place, const std::function<void()>& check) {
  std::vector<std::byte*> places(static_cast<std::size_t>(members_));
  Slot& own = slots_[member_];
  std::size_t most = 0;
  for (std::size_t done = 0; done == 0 || done < most; done += kRoundBytes) {
    const std::size_t set = rounds_++ % 2;
    const auto piece = [&](std::size_t all) { return all > done ? std::min(all - done, kRoundBytes) : 0; };
    own.bytes[set] = bytes;
    if (piece(bytes) > 0) std::memcpy(own.given[set], static_cast<const std::byte*>(mine) + done, piece(bytes));
    meeting_.advance(own.gave);
    const auto all_gave = [this] {
      return std::all_of(slots_, slots_ + members_,
                         [this](const Slot& slot) { return SharedMeeting::reached(slot.gave, rounds_); });
    };
    meeting_.wait(all_gave, check);
    for (int m = 0; m < members_; ++m) {
      const Slot& from = slots_[m];
      std::byte*& to = places[static_cast<std::size_t>(m)];
      if (done == 0) to = place(m, from.bytes[set]), most = std::max(most, from.bytes[set]);
      if (const std::size_t size = piece(from.bytes[set]); size > 0) std::memcpy(to + done, from.given[set], size);
    }
  }
}

}  // namespace dptrain::mpi
