#pragma once

// Trace: what the threads of this process do during some steps of a run, as spans of time, for `fit --trace`. There is
// one for the process, as there is one log; off it costs a load and a branch for each span. On, a thread writes to room
// of its own, without a lock; what no longer fits is counted and left out.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::trace {

inline constexpr std::size_t kMostSpans = std::size_t{1} << 16;  ///< of a thread in one trace

struct Entry {
  std::int64_t begin = 0, end = 0;  ///< nanoseconds of the time of day, so that machines can be compared
  const char* category = nullptr;
  const char* what = nullptr;
  char whose[48] = {};       ///< a layer, a file; cut where it is longer
  std::int64_t number = -1;  ///< of a step, a bucket, a batch; -1: none
};

struct ThreadEntries {
  std::string thread;
  std::vector<Entry> entries;  ///< by their ends
  std::int64_t left_out = 0;
};

/// Whether spans are kept. Any thread.
inline std::atomic<bool> is_on{false};

/// From here on, afresh; and the end of it, with what was kept since: the spans that began and ended in between. One
/// thread at a time; others may be within spans.
void start();
std::vector<ThreadEntries> stop();

/// What this thread is called in traces. Else it is "thread" and a number.
void name_thread(std::string name);
/// Of the calling thread, at the end of a span.
void keep(const Entry& entry, const std::string* whose) noexcept;
std::int64_t now() noexcept;

/// From its construction to its end. `category` and `what` are literals, `whose` lives as long as this.
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
    if (entry_.category != nullptr) keep(entry_, whose_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Entry entry_;
  const std::string* whose_ = nullptr;
};

}  // namespace dptrain::trace
