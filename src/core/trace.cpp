#include "core/trace.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>

namespace dptrain::trace {
namespace {

/// A thread's buffer in one trace: written by that thread, read up to `size` by stop().
struct ThreadBuffer {
  std::uint64_t trace = 0;
  std::string thread;
  std::vector<Entry> entries;  ///< reserved, so they do not move
  std::atomic<std::size_t> size{0};
  std::atomic<std::int64_t> left_out{0};
};

struct ThreadBuffers {
  std::mutex mutex;  // guards the members below
  std::vector<std::shared_ptr<ThreadBuffer>> all;
  std::int64_t nameless = 0;
};

ThreadBuffers& thread_buffers() {
  static ThreadBuffers all_buffers;
  return all_buffers;
}

std::atomic<std::uint64_t> current_trace{0};  // its number

thread_local std::string own_name;
thread_local std::shared_ptr<ThreadBuffer> own_buffer;

/// Buffer of the calling thread in the current trace; null if the trace has ended.
ThreadBuffer* thread_buffer() {
  const std::uint64_t number = current_trace.load(std::memory_order_acquire);
  if (own_buffer && own_buffer->trace == number) return own_buffer.get();
  auto fresh = std::make_shared<ThreadBuffer>();
  fresh->trace = number;
  fresh->entries.reserve(kMaxSpans);
  const std::lock_guard lock(thread_buffers().mutex);
  if (current_trace.load(std::memory_order_relaxed) != number) return nullptr;  // the trace has ended
  fresh->thread = own_name.empty() ? "thread " + std::to_string(++thread_buffers().nameless) : own_name;
  thread_buffers().all.push_back(fresh);
  own_buffer = std::move(fresh);
  return own_buffer.get();
}

}  // namespace

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void name_thread(std::string name) { own_name = std::move(name); }

void record_span(const Entry& entry, const std::string* whose) noexcept {
  if (!is_on.load(std::memory_order_relaxed)) return;
  try {
    ThreadBuffer* const buffer = thread_buffer();
    if (buffer == nullptr) return;
    const std::size_t place = buffer->size.load(std::memory_order_relaxed);
    if (place == kMaxSpans) {
      buffer->left_out.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    Entry& kept = buffer->entries.emplace_back(entry);
    kept.end = now();
    if (whose != nullptr) {
      const std::size_t size = std::min(whose->size(), sizeof kept.whose - 1);
      whose->copy(kept.whose, size);
      kept.whose[size] = '\0';
    }
    buffer->size.store(place + 1, std::memory_order_release);
  } catch (const std::bad_alloc&) {  // without this thread's spans
  }
}

void start() {
  const std::lock_guard lock(thread_buffers().mutex);
  thread_buffers().all.clear();
  thread_buffers().nameless = 0;
  current_trace.fetch_add(1, std::memory_order_release);
  is_on.store(true, std::memory_order_relaxed);
}

std::vector<ThreadEntries> stop() {
  is_on.store(false, std::memory_order_relaxed);
  const std::lock_guard lock(thread_buffers().mutex);
  std::vector<ThreadEntries> all;
  for (const std::shared_ptr<ThreadBuffer>& one : thread_buffers().all) {
    const std::size_t size = one->size.load(std::memory_order_acquire);
    all.push_back({one->thread,
                   {one->entries.data(), one->entries.data() + size},
                   one->left_out.load(std::memory_order_relaxed)});
  }
  thread_buffers().all.clear();
  current_trace.fetch_add(1, std::memory_order_release);  // late threads store nothing
  return all;
}

}  // namespace dptrain::trace
