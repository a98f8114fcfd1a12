#pragma once

// Trace: activities of the process's threads as spans of time, for `fit --trace`. One per process. When off, a span
// costs a load and a branch. When on, each thread writes to its own buffer without a lock; spans that do not fit are
// counted and dropped.
//
//   const trace::Span span("copy", "batch to the device");

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::trace {

inline constexpr std::size_t kMaxSpans = std::size_t{1} << 16;  ///< per thread in one trace

struct Entry {
  std::int64_t begin = 0, end = 0;  ///< nanoseconds of the system clock, comparable between machines
  const char* category = nullptr;
  const char* what = nullptr;
  char whose[48] = {};       ///< a layer, a file; truncated
  std::int64_t number = -1;  ///< number of a step, bucket or batch; -1: none
};

struct ThreadEntries {
  std::string thread;
  std::vector<Entry> entries;  ///< ordered by their ends
  std::int64_t left_out = 0;
};

/// Whether spans are stored. Any thread.
inline std::atomic<bool> is_on{false};

/// start() discards old spans; stop() returns the spans that began and ended since. One thread at a time; other threads
/// may be within spans.
void start();
std::vector<ThreadEntries> stop();

/// Sets the name of this thread in traces (default: "thread" and a number).
void name_thread(std::string name);
/// Stores a span of the calling thread at its end.
void record_span(const Entry& entry, const std::string* whose) noexcept;
std::int64_t now() noexcept;

/// Lasts from its construction to its destruction. `category` and `what` are literals; `whose` outlives it.
class Span {
 public:
  Span(const char* category, const char* what, const std::string* whose = nullptr, std::int64_t number = -1) noexcept {
    if (!is_on.load(std::memory_order_relaxed)) return;
    entry_.category = category;
    entry_.what = what;
    entry_.number = number;
    entry_.begin = now();
    whose_ = whose;
  }
  Span(const char* category, const char* what, std::int64_t number) noexcept : Span(category, what, nullptr, number) {}
  ~Span() {
    if (entry_.category != nullptr) record_span(entry_, whose_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Entry entry_;
  const std::string* whose_ = nullptr;
};

}  // namespace dptrain::trace
