#pragma once

// oneDNN primitives know the number of rows, so an op keeps a set of them for each number it meets: those prepared
// before the first step, and others made when they come. Belongs to one op.

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

/// oneDNN hands out of a cache of the process what another thread has made. One maker at a time, so that all that is
/// known to have happened before: to the thread sanitizer too, which cannot see the library's own locks.
inline std::mutex making_primitives;

/// `Passes` says its scratch() in bytes.
template <class Passes>
class PerRows {
 public:
  explicit PerRows(std::function<Passes(std::int64_t rows)> make) : make_(std::move(make)) {}
  PerRows(const PerRows&) = delete;
  PerRows& operator=(const PerRows&) = delete;

  void prepare(std::int64_t rows) { planned_ = std::max(planned_, at(rows).scratch()); }
  /// What prepared sets need: what the op's need() says.
  std::size_t planned_scratch() const noexcept { return planned_; }

  /// The set for this number of rows; made, with all that allocates, where it was not prepared.
  Passes& at(std::int64_t rows) {
    for (auto& [known, passes] : sets_)
      if (known == rows) return *passes;
    const std::lock_guard lock(making_primitives);
    sets_.emplace_back(rows, std::make_unique<Passes>(make_(rows)));
    return *sets_.back().second;
  }

  /// Whether f holds for every set there is.
  template <class F>
  bool all(const F& f) const {
    return std::ranges::all_of(sets_, [&](const auto& set) { return f(*set.second); });
  }

  /// The plan's scratch where it is large enough for the set, else memory of the op's own.
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
