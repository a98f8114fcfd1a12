#include "distributed/shared_memory.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"

namespace dptrain::distributed {
namespace {

/// Size of the header before the caller's bytes. It contains the mark by which open() recognizes the right file.
constexpr std::size_t kHead = 4096;

std::uint64_t new_mark() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random() | 1;
}

/// Memory made by this process: opening it again returns the same mapping. This happens only where the processes are
/// threads of one, as in tests. There the thread sanitizer needs the common mapping to see the synchronization.
struct Made {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<SharedMemory>> by_mark;
};
Made& made() {
  static Made all;
  return all;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int take() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Error no_memory(std::size_t bytes, int code) {
  return {ErrorKind::kMemory,
          fmt::format("{:.2f} GiB of memory shared by processes: {}; try fewer processes or replicas",
                      static_cast<double>(bytes) / (1 << 30), std::strerror(code))};
}

}  // namespace

SharedMemory::SharedMemory(int descriptor, const Handle& handle) : descriptor_(descriptor), handle_(handle) {
  // Touch the pages now: the first access is slow and must not happen during a step.
  mapped_ = ::mmap(nullptr, kHead + handle.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (mapped_ != MAP_FAILED) return;
  const int code = errno;
  ::close(descriptor_);
  throw no_memory(handle.bytes, code);
}

SharedMemory::~SharedMemory() {
  ::munmap(mapped_, kHead + handle_.bytes);
  ::close(descriptor_);
  const std::lock_guard lock(made().mutex);
  const auto own = made().by_mark.find(handle_.mark);
  if (own != made().by_mark.end() && own->second.expired()) made().by_mark.erase(own);
}

std::string SharedMemory::to_bytes(const std::vector<Handle>& handles) {
  return {reinterpret_cast<const char*>(handles.data()), handles.size() * sizeof(Handle)};
}

std::vector<SharedMemory::Handle> SharedMemory::from_bytes(const std::string& bytes) {
  std::vector<Handle> handles(bytes.size() / sizeof(Handle));
  if (!handles.empty()) std::memcpy(handles.data(), bytes.data(), handles.size() * sizeof(Handle));
  return handles;
}

std::byte* SharedMemory::data() const { return static_cast<std::byte*>(mapped_) + kHead; }

std::shared_ptr<SharedMemory> SharedMemory::make(std::size_t bytes) {
  // The system grants more memory than it has and kills processes later, so check first.
  const std::uint64_t available = machine::memory().available;
  if (available > 0 && bytes > available) throw no_memory(bytes, ENOMEM);
  Descriptor file(::memfd_create("dptrain", MFD_CLOEXEC));
  if (file.number() < 0)
    throw Error(
        ErrorKind::kDevice,
        fmt::format("cannot create memory shared by processes: {}; set DPTRAIN_SHARED_MEMORY=none to run without it",
                    std::strerror(errno)));
  // Allocate everything now: a lack of memory is an error here and would be a signal later.
  if (const int code = ::posix_fallocate(file.number(), 0, static_cast<off_t>(kHead + bytes)); code != 0)
    throw no_memory(bytes, code);
  const Handle handle{.process = ::getpid(), .descriptor = file.number(), .bytes = bytes, .mark = new_mark()};
  std::shared_ptr<SharedMemory> memory(new SharedMemory(file.take(), handle));
  ::new (memory->mapped_) std::uint64_t(handle.mark);
  const std::lock_guard lock(made().mutex);
  made().by_mark[handle.mark] = memory;
  return memory;
}

std::shared_ptr<SharedMemory> SharedMemory::open(const Handle& handle) {
  if (handle.bytes == 0) return nullptr;
  if (handle.process == ::getpid()) {
    const std::lock_guard lock(made().mutex);
    const auto own = made().by_mark.find(handle.mark);
    if (own != made().by_mark.end())
      if (auto memory = own->second.lock()) return memory;
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", handle.process, handle.descriptor);
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  std::uint64_t mark = 0;
  if (file.number() < 0 || ::fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_size != static_cast<off_t>(kHead + handle.bytes) ||
      ::pread(file.number(), &mark, sizeof(mark), 0) != sizeof(mark) || mark != handle.mark)
    return nullptr;
  return std::shared_ptr<SharedMemory>(new SharedMemory(file.take(), handle));
}

namespace {

/// As in distributed/event_counts.cpp.
constexpr int kSharedSpins = 50;
constexpr long kSleepNanoseconds = 20'000'000;

/// Not FUTEX_PRIVATE, because processes map the memory at different addresses.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* most) {
  return ::syscall(SYS_futex, &word, operation, value, most, nullptr, 0);
}

}  // namespace

void SharedEventCounts::signal(SharedCounter& counter) {
  // Sequentially consistent on both sides: this thread finds the sleeper, or the sleeper reads the new count.
  counter.count.fetch_add(1, std::memory_order_seq_cst);
  notify();
}

void SharedEventCounts::notify() {
  if (place_.sleepers.load(std::memory_order_seq_cst) == 0) return;
  place_.notified.fetch_add(1, std::memory_order_seq_cst);
  futex(place_.notified, FUTEX_WAKE, INT_MAX, nullptr);
}

void SharedEventCounts::wait(const std::function<bool()>& ready, const std::function<void()>& check) {
  for (int spin = 0; spin < kSharedSpins; ++spin) {
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
    const std::uint32_t notified = place_.notified.load(std::memory_order_seq_cst);
    if (ready()) return;
    check();
    futex(place_.notified, FUTEX_WAIT, notified, &most);  // the loop tests `ready` again, whatever the result
  }
}

std::size_t SharedGather::bytes(int members) {
  return sizeof(SharedEventCounts::State) + static_cast<std::size_t>(members) * sizeof(Slot);
}

SharedGather::SharedGather(std::byte* memory, int members, int member)
    : counts_(*reinterpret_cast<SharedEventCounts::State*>(memory)),
      slots_(reinterpret_cast<Slot*>(memory + sizeof(SharedEventCounts::State))),
      members_(members),
      member_(member) {}

void SharedGather::gather(const void* mine, std::size_t bytes, const Destination& place,
                          const std::function<void()>& check) {
  std::vector<std::byte*> places(static_cast<std::size_t>(members_));
  Slot& own = slots_[member_];
  std::size_t most = 0;
  for (std::size_t done = 0; done == 0 || done < most; done += kRoundBytes) {
    const std::size_t set = rounds_++ % 2;
    const auto piece = [&](std::size_t all) { return all > done ? std::min(all - done, kRoundBytes) : 0; };
    own.bytes[set] = bytes;
    if (piece(bytes) > 0) std::memcpy(own.given[set], static_cast<const std::byte*>(mine) + done, piece(bytes));
    counts_.signal(own.sent);
    const auto all_sent = [this] {
      return std::all_of(slots_, slots_ + members_,
                         [this](const Slot& slot) { return SharedEventCounts::is_reached(slot.sent, rounds_); });
    };
    counts_.wait(all_sent, check);
    for (int m = 0; m < members_; ++m) {
      const Slot& from = slots_[m];
      std::byte*& to = places[static_cast<std::size_t>(m)];
      if (done == 0) to = place(m, from.bytes[set]), most = std::max(most, from.bytes[set]);
      if (const std::size_t size = piece(from.bytes[set]); size > 0) std::memcpy(to + done, from.given[set], size);
    }
  }
}

}  // namespace dptrain::distributed
