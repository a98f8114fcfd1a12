#include "distributed/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace dptrain::distributed {
namespace {

/// A child process, forked while the test has no other thread, and killed at the latest with this object.
class Child {
 public:
  explicit Child(const std::function<int()>& body) {
    process_ = ::fork();
    if (process_ == 0) ::_exit(body());
  }
  ~Child() {
    if (process_ > 0) ::kill(process_, SIGKILL), wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() { ::kill(process_, SIGKILL); }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return status;
  }

 private:
  pid_t process_ = 0;
};

struct Counters {
  SharedEventCounts::State place;
  SharedCounter here, there;
};

void within_ten_seconds(const Stopwatch& watch) {
  if (watch.seconds() > 10) throw Error(ErrorKind::kDeadline, "timed out");
}

TEST(SharedMemory, OpensInAnotherProcess) {
  const auto memory = SharedMemory::make(sizeof(Counters));
  const SharedMemory::Handle handle = memory->handle();
  auto& mine = *memory->as<Counters>();
  Child child([&] {
    const auto theirs = SharedMemory::open(handle);
    if (theirs == nullptr || theirs->data() == memory->data()) return 1;  // must be a mapping of its own
    auto& counters = *theirs->as<Counters>();
    SharedEventCounts counts(counters.place);
    const Stopwatch watch;
    for (std::uint64_t round = 1; round <= 1000; ++round) {
      counts.signal(counters.there);
      counts.wait([&] { return SharedEventCounts::is_reached(counters.here, round); },
                  [&] { within_ten_seconds(watch); });
    }
    return 0;
  });
  SharedEventCounts counts(mine.place);
  const Stopwatch watch;
  for (std::uint64_t round = 1; round <= 1000; ++round) {
    ASSERT_NO_THROW(counts.wait([&] { return SharedEventCounts::is_reached(mine.there, round); },
                                [&] { within_ten_seconds(watch); }));
    if (round % 100 == 0) ::usleep(3000);  // the other process sleeps by then
    counts.signal(mine.here);
  }
  EXPECT_EQ(child.wait(), 0);
}

/// A waiting thread is still woken, and is not blocked by the state that the killed process left in the memory.
TEST(SharedMemory, OutlivesAProcessThatIsKilledWhileItWaits) {
  const auto memory = SharedMemory::make(sizeof(Counters));
  auto& mine = *memory->as<Counters>();
  SharedEventCounts counts(mine.place);
  const Stopwatch watch;
  {
    Child child([&] {
      SharedEventCounts own(mine.place);
      own.signal(mine.there);
      own.wait([&] { return SharedEventCounts::is_reached(mine.here, 1); }, [&] { within_ten_seconds(watch); });
      return 0;
    });
    while (mine.place.sleepers == 0 && watch.seconds() < 10) ::usleep(1000);
    child.kill();
    EXPECT_TRUE(WIFSIGNALED(child.wait()));
  }
  EXPECT_EQ(mine.place.sleepers, 1U);
  int asked = 0;
  EXPECT_THROW(counts.wait([&] { return SharedEventCounts::is_reached(mine.there, 2); },
                           [&] {
                             if (++asked == 3) throw Error(ErrorKind::kDevice, "it has ended");
                           }),
               Error);
  counts.signal(mine.there);
  counts.wait([&] { return SharedEventCounts::is_reached(mine.there, 2); }, [&] { within_ten_seconds(watch); });
}

TEST(SharedMemory, DoesNotOpenOtherFiles) {
  SharedMemory::Handle handle;
  {
    const auto memory = SharedMemory::make(100);
    handle = memory->handle();
    EXPECT_EQ(SharedMemory::open(handle)->data(), memory->data());
    SharedMemory::Handle other = handle;
    other.mark ^= 2;
    EXPECT_EQ(SharedMemory::open(other), nullptr);
    other = handle;
    other.bytes = 200;
    EXPECT_NE(SharedMemory::open(handle), nullptr);
    other.mark ^= 2;
    EXPECT_EQ(SharedMemory::open(other), nullptr);
  }
  EXPECT_EQ(SharedMemory::open(handle), nullptr);  // freed with its last user
  EXPECT_EQ(SharedMemory::open({}), nullptr);
  const auto next = SharedMemory::make(100);  // reuses the descriptor
  EXPECT_EQ(next->handle().descriptor, handle.descriptor);
  EXPECT_EQ(SharedMemory::open(handle), nullptr);
}

TEST(SharedMemory, HandlesAreBytes) {
  const std::vector<SharedMemory::Handle> handles{{1, 2, 3, 4}, {5, 6, 7, 8}};
  const auto back = SharedMemory::from_bytes(SharedMemory::to_bytes(handles));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[1].mark, 8U);
  EXPECT_TRUE(SharedMemory::from_bytes("").empty());
}

TEST(SharedMemory, ThrowsIfThereIsNotEnough) {
  try {
    SharedMemory::make(std::size_t{1} << 50);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(std::string(error.what()).find("1048576.00 GiB of memory shared by processes"), std::string::npos);
  }
}

}  // namespace
}  // namespace dptrain::distributed
