#pragma once

// Converter converts the fields of a block to cells. Each thread owns one. Codes of new words and the number of the
// block's first row depend on earlier rows, so ConvertedRows does not contain them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/table/blocks.h"
#include "data/table/table.h"
#include "data/table/words.h"
#include "kernels/cpu/csv.h"

namespace dptrain::data::table {

/// Positions of a schema's cells in a row of the table. Immutable; any thread.
struct Layout {
  explicit Layout(const Schema& schema);

  std::vector<int> cell_of;  ///< cell of each column, or -1
  std::vector<int> text_of;  ///< index of each column among the texts of a row, or -1
  int cells = 0, texts = 0;
};

/// The cell of a missing value.
Cell missing_cell(ColumnType type);

/// The column of each field of one file. Immutable; any thread.
struct FileLayout {
  /// `names`: from the header, or empty without one. Throws Error{kData} for a missing column or a repeated name.
  FileLayout(const Schema& schema, const Layout& layout, std::vector<std::string> names, const std::string& file);

  std::size_t count = 0;           ///< fields in a row
  std::vector<std::string> names;  ///< name of each field
  std::vector<int> column_of;      ///< column of each field, or -1

  struct Place {
    std::uint32_t field, slot;
    int column;
  };
  std::vector<std::uint32_t> number_fields, number_slots;  ///< for kernels::cpu::CsvColumns
  std::vector<int> number_columns;
  std::vector<Place> formatted_numbers;  ///< with a decimal comma or a sign: not for the kernel
  std::vector<Place> dates, categories, texts;
  std::vector<Place> absent;  ///< cells without a field

  kernels::cpu::CsvColumns numbers() const { return {number_fields.data(), number_slots.data(), number_fields.size()}; }
};

/// Replaces empty names by column_name(). Throws Error{kData} with "train.csv:1:1: ..." for a repeated name.
void complete_names(std::vector<std::string>& names, const std::string& file);
/// "column3" for i = 2.
std::string column_name(std::size_t i);

/// Position of a row's text in the block's text, with its quotes.
struct TextSpan {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
};

struct ConvertedRows {
  std::size_t rows = 0, width = 0;  ///< width: cells in a row
  std::vector<Cell> cells;
  std::vector<TextSpan> texts;
  std::vector<LineRun> lines;
  std::uint64_t line_count = 0;
  std::vector<BadField> bad;       ///< in the order of the text, one per bad row
  std::vector<std::size_t> fresh;  ///< indices of cells whose words have no code yet, by column
};

class Converter {
 public:
  /// `vocabularies`: one per column. All arguments must outlive the converter.
  Converter(const Schema& schema, const Layout& layout, const std::vector<Vocabulary>& vocabularies);

  /// Converts a block after Block::find().
  void convert(const Block& block, const FileLayout& file, ConvertedRows& out);
  /// The words of a column of categories.
  WordTable& words(int column) { return *words_[static_cast<std::size_t>(column)]; }

 private:
  void numbers(const Fields& fields, const FileLayout& file, ConvertedRows& out);
  void formatted_numbers(const Fields& fields, const FileLayout& file, ConvertedRows& out);
  float number_at(const Fields& fields, std::size_t row, std::size_t field, int column);
  void dates(const Fields& fields, const FileLayout& file, ConvertedRows& out);
  void texts(const Fields& fields, const FileLayout& file, ConvertedRows& out);
  void categories(const Fields& fields, const FileLayout& file, ConvertedRows& out);
  void check_utf8(const Block& block, const FileLayout& file);
  void note_bad(BadField field);
  void remove_bad_rows(const Fields& fields, ConvertedRows& out);
  bool is_missing(std::string_view text) const;
  std::string_view unquoted_text(std::string_view field);

  const Schema& schema_;
  const Layout& layout_;
  const bool empty_is_missing_;
  std::vector<std::optional<WordTable>> words_;
  std::vector<std::uint32_t> left_;
  std::vector<BadField> own_bad_;
  std::vector<char> alive_;  // 0: the row is bad
  std::string unquoted_;
};

}  // namespace dptrain::data::table
