#include "core/trace.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>

namespace dptrain::trace {
namespace {

/// A thread's buffer in one trace: written by that thread, read up to `size` by stop().
struct Room {
  std::uint64_t trace = 0;
  std::string thread;
  std::vector<Entry> entries;  ///< reserved, so they do not move
  std::atomic<std::size_t> size{0};
  std::atomic<std::int64_t> left_out{0};
};

struct Rooms {
  std::mutex mutex;  // guards the members below
  std::vector<std::shared_ptr<Room>> all;
  std::int64_t nameless = 0;
};

Rooms& rooms() {
  static Rooms the_rooms;
  return the_rooms;
}

std::atomic<std::uint64_t> current_trace{0};  // its number

thread_local std::string own_name;
thread_local std::shared_ptr<Room> own_room;

/// Buffer of the calling thread in the current trace; null if the trace has ended.
Room* room() {
  const std::uint64_t number = current_trace.load(std::memory_order_acquire);
  if (own_room && own_room->trace == number) return own_room.get();
  auto fresh = std::make_shared<Room>();
  fresh->trace = number;
  fresh->entries.reserve(kMostSpans);
  const std::lock_guard lock(rooms().mutex);
  if (current_trace.load(std::memory_order_relaxed) != number) return nullptr;  // the trace has ended
  fresh->thread = own_name.empty() ? "thread " + std::to_string(++rooms().nameless) : own_name;
  rooms().all.push_back(fresh);
  own_room = std::move(fresh);
  return own_room.get();
}

}  // namespace

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void name_thread(std::string name) { own_name = std::move(name); }

void keep(const Entry& entry, const std::string* whose) noexcept {
  if (!is_on.load(std::memory_order_relaxed)) return;
  try {
    Room* const room_of_thread = room();
    if (room_of_thread == nullptr) return;
    const std::size_t place = room_of_thread->size.load(std::memory_order_relaxed);
    if (place == kMostSpans) {
      room_of_thread->left_out.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    Entry& kept = room_of_thread->entries.emplace_back(entry);
    kept.end = now();
    if (whose != nullptr) {
      const std::size_t size = std::min(whose->size(), sizeof kept.whose - 1);
      whose->copy(kept.whose, size);
      kept.whose[size] = '\0';
    }
    room_of_thread->size.store(place + 1, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // without this thread's spans
  }
}

void start() {
  const std::lock_guard lock(rooms().mutex);
  rooms().all.clear();
  rooms().nameless = 0;
  current_trace.fetch_add(1, std::memory_order_release);
  is_on.store(true, std::memory_order_relaxed);
}

std::vector<ThreadEntries> stop() {
  is_on.store(false, std::memory_order_relaxed);
  const std::lock_guard lock(rooms().mutex);
  std::vector<ThreadEntries> all;
  for (const std::shared_ptr<Room>& one : rooms().all) {
    const std::size_t size = one->size.load(std::memory_order_acquire);
    all.push_back({one->thread,
                   {one->entries.data(), one->entries.data() + size},
                   one->left_out.load(std::memory_order_relaxed)});
  }
  rooms().all.clear();
  current_trace.fetch_add(1, std::memory_order_release);  // late threads store nothing
  return all;
}

}  // namespace dptrain::trace
