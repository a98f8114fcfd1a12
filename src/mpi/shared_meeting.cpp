#include "mpi/shared_meeting.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <thread>

namespace dptrain::mpi {
namespace {

/// As reduce/meeting.cpp.
constexpr int kLooks = 50;
constexpr long kSleepNanoseconds = 20'000'000;

/// The kernel compares and wakes by the memory's place, whichever process has it where; so not FUTEX_PRIVATE.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* most) {
  return ::syscall(SYS_futex, &word, operation, value, most, nullptr, 0);
}

}  // namespace

void SharedMeeting::advance(SharedCounter& counter, std::uint64_t by) {
  // Sequentially consistent on both sides: either this sees the sleeper or the sleeper sees the new count.
  counter.count.fetch_add(by, std::memory_order_seq_cst);
  tell();
}

void SharedMeeting::tell() {
  if (place_.sleepers.load(std::memory_order_seq_cst) == 0) return;
  place_.told.fetch_add(1, std::memory_order_seq_cst);
  futex(place_.told, FUTEX_WAKE, INT_MAX, nullptr);
}

void SharedMeeting::wait(const std::function<bool()>& ready, const std::function<void()>& check) {
  for (int look = 0; look < kLooks; ++look) {
    if (ready()) return;
    std::this_thread::yield();
  }
  check();
  const timespec most{.tv_sec = 0, .tv_nsec = kSleepNanoseconds};
  place_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  struct Awake {
    std::atomic<std::uint32_t>& sleepers;
    ~Awake() { sleepers.fetch_sub(1, std::memory_order_seq_cst); }
  } const awake{place_.sleepers};
  while (true) {
    const std::uint32_t told = place_.told.load(std::memory_order_seq_cst);
    if (ready()) return;
    check();
    futex(place_.told, FUTEX_WAIT, told, &most);  // whatever it says: it is asked again
  }
}

}  // namespace dptrain::mpi
