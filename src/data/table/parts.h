#pragma once

// TableParts: the contents of a Table. One thread at a time calls append(), in the order of the rows.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "core/files.h"
#include "core/memory.h"
#include "data/table/conversion.h"
#include "data/table/table.h"
#include "data/table/words.h"

namespace dptrain::data::table {

/// Rows of a fixed width, which never move and are contiguous within a page. One thread at a time calls grow(), while
/// other threads may write to their pieces.
template <class T>
class Pages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// `width`: elements in a row.
  explicit Pages(std::size_t width = 0) : width_(width) {
    while (shift_ > 0 && (std::size_t{1} << shift_) * width_ * sizeof(T) > kPageBytes) --shift_;
  }

  std::size_t width() const { return width_; }
  /// Null if rows are empty.
  const T* row(std::int64_t i) const {
    if (width_ == 0) return nullptr;
    const auto at = static_cast<std::size_t>(i);
    return pages_[at >> shift_].get() + (at & ((std::size_t{1} << shift_) - 1)) * width_;
  }
  /// Allocates rows [0, rows).
  void grow(std::int64_t rows) {
    if (width_ == 0) return;
    const std::size_t pages = (static_cast<std::size_t>(rows) + (std::size_t{1} << shift_) - 1) >> shift_;
    while (pages_.size() < pages) pages_.push_back(make_page());
  }
  /// `count` contiguous rows, beginning with requested row `first`.
  struct Piece {
    T* to;
    std::size_t first, count;
  };
  /// The pieces of rows [begin, begin + rows), which must be allocated.
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
    advise_huge_pages(page, bytes);  // fewer page faults
    return Page(static_cast<T*>(page));
  }

  std::size_t width_;
  unsigned shift_ = 20;
  std::vector<Page> pages_;
};

/// Position of a block in a file.
struct BlockPlace {
  int file;
  std::uint64_t first_line;  ///< first line of the block, from 0
};

class TableParts {
 public:
  /// `vocabularies`: one per column; other code may extend them later.
  TableParts(Schema schema, std::shared_ptr<std::vector<Vocabulary>> vocabularies);

  /// Adds a file and returns its index. If `bytes` is null, its texts are copied to memory.
  int add_file(std::string name, std::shared_ptr<const FileBytes> bytes);
  /// Adds rows [first, first + count) of a converted block, whose `text` begins at `offset` of the file. Returns the
  /// number of the first row. The cells must then be copied with copy_cells().
  std::int64_t append(const ConvertedRows& rows, std::size_t first, std::size_t count, const BlockPlace& place,
                      const char* text, std::uint64_t offset);

  /// Adds the converter's counts of each word.
  void add_counts(Converter& converter);

  Schema schema;
  Layout layout;
  std::shared_ptr<std::vector<Vocabulary>> vocabularies;
  std::vector<std::vector<std::int64_t>> counts;  ///< rows with each word, by column
  Pages<Cell> cells;
  std::int64_t rows = 0, skipped = 0;

  std::string place(std::int64_t row) const;
  const std::string& file(std::int64_t row) const { return file_of(row).name; }
  void append_text(int column, std::int64_t row, std::string& out) const;
  std::int64_t bytes() const;

 private:
  struct Run {
    std::int64_t row;
    std::uint64_t line;
    int file;
  };
  struct File {
    std::string name;
    std::shared_ptr<const FileBytes> bytes;
    std::int64_t first_row;
  };
  struct Held {
    std::uint64_t offset;  // offset of its first byte within all held texts
    std::string text;
  };
  const File& file_of(std::int64_t row) const;

  Pages<TextSpan> texts_;
  std::vector<Run> runs_;
  std::vector<File> files_;
  std::vector<Held> held_;
  std::uint64_t held_bytes_ = 0;
};

/// Copies the cells of rows from `first` on to the pieces of the rows that append() added.
void copy_cells(const ConvertedRows& rows, std::size_t first, const std::vector<Pages<Cell>::Piece>& to);

}  // namespace dptrain::data::table
