#pragma once

// RowCountCache: a set of oneDNN primitives for each number of rows, which primitives fix. prepare() makes sets before
// the first step; at() makes others on first use. Belongs to one op and its thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace dptrain::backend::cpu {

/// Held while primitives are made: oneDNN's global cache returns primitives of other threads, and the thread sanitizer
/// cannot see its locks.
inline std::mutex making_primitives;

/// `Passes` has a function scratch(), in bytes.
template <class Passes>
class RowCountCache {
 public:
  explicit RowCountCache(std::function<Passes(std::int64_t rows)> make) : make_(std::move(make)) {}
  RowCountCache(const RowCountCache&) = delete;
  RowCountCache& operator=(const RowCountCache&) = delete;

  void prepare(std::int64_t rows) { planned_ = std::max(planned_, at(rows).scratch()); }
  /// Bytes of scratch for all prepared sets, for Op::need().
  std::size_t planned_scratch() const noexcept { return planned_; }

  /// Makes the set, which allocates, if it was not prepared.
  Passes& at(std::int64_t rows) {
    for (auto& [known, passes] : sets_)
      if (known == rows) return *passes;
    const std::lock_guard lock(making_primitives);
    sets_.emplace_back(rows, std::make_unique<Passes>(make_(rows)));
    return *sets_.back().second;
  }

  /// Whether f(set) is true for all existing sets.
  template <class F>
  bool all(const F& f) const {
    return std::ranges::all_of(sets_, [&](const auto& set) { return f(*set.second); });
  }

  /// `of_plan`, which has planned_scratch() bytes, or memory of this object if that is too small for the set.
  void* scratch(const Passes& passes, void* of_plan) {
    const std::size_t bytes = passes.scratch();
    if (bytes <= planned_) return of_plan;
    if (bytes > own_bytes_) {
      own_.reset(::operator new(bytes, kAlign));
      own_bytes_ = bytes;
    }
    return own_.get();
  }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(void* memory) const noexcept { ::operator delete(memory, kAlign); }
  };

  std::function<Passes(std::int64_t)> make_;
  std::vector<std::pair<std::int64_t, std::unique_ptr<Passes>>> sets_;
  std::size_t planned_ = 0;
  std::unique_ptr<void, Free> own_;
  std::size_t own_bytes_ = 0;
};

}  // namespace dptrain::backend::cpu
