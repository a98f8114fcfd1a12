#pragma once

// Pages: rows of a fixed width that grow without being moved, and lie one behind the other within a page. grow() is
// called by one thread at a time, and other threads may meanwhile write to pieces that they have.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "core/huge_pages.h"

namespace dptrain::table {

template <class T>
class Pages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// T's in a row.
  explicit Pages(std::size_t width = 0) : width_(width) {
    while (shift_ > 0 && (std::size_t{1} << shift_) * width_ * sizeof(T) > kPageBytes) --shift_;
  }

  std::size_t width() const { return width_; }
  /// Null where rows hold nothing.
  const T* row(std::int64_t i) const {
    if (width_ == 0) return nullptr;
    const auto at = static_cast<std::size_t>(i);
    return pages_[at >> shift_].get() + (at & ((std::size_t{1} << shift_) - 1)) * width_;
  }
  /// Makes room for rows [0, rows).
  void grow(std::int64_t rows) {
    if (width_ == 0) return;
    const std::size_t pages = (static_cast<std::size_t>(rows) + (std::size_t{1} << shift_) - 1) >> shift_;
    while (pages_.size() < pages) pages_.push_back(make_page());
  }
  /// Rows that lie together: `count` of them, the first of which is number `first` of those asked for.
  struct Piece {
    T* to;
    std::size_t first, count;
  };
  /// The pieces of rows [begin, begin + rows), for which there is room; they stay where they are.
  std::vector<Piece> pieces(std::int64_t begin, std::size_t rows) {
    std::vector<Piece> all;
    const std::size_t page_rows = std::size_t{1} << shift_;
    for (std::size_t done = 0; width_ > 0 && done < rows; done += all.back().count) {
      const std::size_t at = static_cast<std::size_t>(begin) + done, within = at & (page_rows - 1);
      all.push_back({pages_[at >> shift_].get() + within * width_, done, std::min(rows - done, page_rows - within)});
    }
    return all;
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>((pages_.size() << shift_) * width_ * sizeof(T)); }

 private:
  struct Free {
    void operator()(T* page) const { std::free(page); }
  };
  using Page = std::unique_ptr<T[], Free>;

  static constexpr std::size_t kPageBytes = std::size_t{8} << 20;

  Page make_page() const {
    const std::size_t bytes = ((std::size_t{1} << shift_) * width_ * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
    void* const page = std::aligned_alloc(kHugePage, bytes);
    if (page == nullptr) throw std::bad_alloc();
    wish_for_huge_pages(page, bytes);  // fewer faults while it is filled
    return Page(static_cast<T*>(page));
  }

  std::size_t width_;
  unsigned shift_ = 20;
  std::vector<Page> pages_;
};

}  // namespace dptrain::table
