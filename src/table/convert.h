#pragma once

// Converter: the fields of a block to cells. One for each thread, which owns it; what threads have to agree on, codes
// of new words and the first row of a block, is left open in its Result until the rows before are done.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/csv.h"
#include "table/blocks.h"
#include "table/table.h"
#include "table/words.h"

namespace dptrain::table {

// Layout: where the cells of a schema stand in a row of the table. FileLayout: which field of one file is which column.
// Both are constant once made; any thread.

struct Layout {
  explicit Layout(const Schema& schema);

  std::vector<int> cell_of;  ///< of each column, or -1
  std::vector<int> text_of;  ///< likewise, among the texts of a row
  int cells = 0, texts = 0;
};

/// A cell that means nothing.
Cell missing_cell(ColumnType type);

struct FileLayout {
  /// `names`: of the header, or empty without one. Throws Error{kData} where a column is not there, or a name twice.
  FileLayout(const Schema& schema, const Layout& layout, std::vector<std::string> names, const std::string& file);

  std::size_t count = 0;           ///< fields in a row
  std::vector<std::string> names;  ///< of each field
  std::vector<int> column_of;      ///< of each field, or -1

  struct Place {
    std::uint32_t field, slot;
    int column;
  };
  std::vector<std::uint32_t> number_fields, number_slots;  // in the form of the kernel
  std::vector<int> number_columns;
  std::vector<Place> formatted_numbers;  ///< with a decimal comma or a sign, which the kernel does not support
  std::vector<Place> dates, categories, texts;
  std::vector<Place> absent;  ///< cells without a field

  kernels::cpu::CsvColumns numbers() const { return {number_fields.data(), number_slots.data(), number_fields.size()}; }
};

/// "train.csv:1:1: ..." in Error{kData} where a header has a name twice; names that are empty are given one.
void settle_names(std::vector<std::string>& names, const std::string& file);
/// "column3", for the third.
std::string column_name(std::size_t i);

/// A text of a row, where the block's text has it, with its quotes.
struct TextSpan {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
};

struct Converted {
  std::size_t rows = 0, width = 0;  ///< width: cells in a row
  std::vector<Cell> cells;
  std::vector<TextSpan> texts;
  std::vector<LineRun> lines;
  std::uint64_t line_count = 0;
  std::vector<BadField> bad;       ///< in the order of the text, one of a row
  std::vector<std::size_t> fresh;  ///< places among the cells of words without a code, by column
};

class Converter {
 public:
  /// `vocabularies` of all columns; all arguments outlive it.
  Converter(const Schema& schema, const Layout& layout, const std::vector<Vocabulary>& vocabularies);

  /// The block's fields are found.
  void convert(const Block& block, const FileLayout& file, Converted& out);
  /// The words of a column of categories.
  WordTable& words(int column) { return *words_[static_cast<std::size_t>(column)]; }

 private:
  void numbers(const Fields& fields, const FileLayout& file, Converted& out);
  void formatted_numbers(const Fields& fields, const FileLayout& file, Converted& out);
  float number_at(const Fields& fields, std::size_t row, std::size_t field, int column);
  void dates(const Fields& fields, const FileLayout& file, Converted& out);
  void texts(const Fields& fields, const FileLayout& file, Converted& out);
  void categories(const Fields& fields, const FileLayout& file, Converted& out);
  void check_utf8(const Block& block, const FileLayout& file);
  void note_bad(BadField field);
  void leave_out(const Fields& fields, Converted& out);
  bool is_missing(std::string_view text) const;
  std::string_view meaning(std::string_view field);

  const Schema& schema_;
  const Layout& layout_;
  const bool empty_is_missing_;
  std::vector<std::optional<WordTable>> words_;
  std::vector<std::uint32_t> left_;
  std::vector<BadField> own_bad_;
  std::vector<char> alive_;  // of each row, once one is bad
  std::string unquoted_;
};

}  // namespace dptrain::table
