#pragma once

// Columns of a table: the values that an encoder is fitted to, and CsvFeature, which encodes them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "data/sources/csv_rows.h"
#include "data/sources/csv_statistics.h"

namespace dptrain::data {

/// The column's values in `samples`, for fit(). `found` is compute_statistics() of the same samples. Stores references
/// to all three arguments.
std::unique_ptr<TrainingColumn> training_column(const CsvRows& rows, const std::vector<std::int64_t>& samples,
                                                const CsvStatistics& found, const std::string& name);

/// Encodes the cells of one column. Immutable; any thread.
class CsvFeature {
 public:
  /// Throws Error{kData} with the row's place for a word that the encoder rejects.
  CsvFeature(std::shared_ptr<const CsvRows> rows, const CsvLayout::Column& column);

  const std::string& name() const { return name_; }
  const Encoder& encoder() const { return *encoder_; }
  /// The map of a column of numbers that the encoder only maps linearly. cell(): index of its cell in a row.
  std::optional<LinearMap> linear() const { return numbers_ != nullptr && !dates_ ? numbers_->linear() : std::nullopt; }
  int cell() const { return cell_; }
  /// Write encoder().floats() floats or ids() ids for a row of the table. Throw Error{kData} with the place. Not for
  /// columns of files.
  void encode(std::int64_t row, float* out) const;
  void encode_ids(std::int64_t row, std::int32_t* out) const;
  /// Encoder of a column of file paths; null for other columns.
  const FileEncoder* files() const { return files_; }
  /// Path of the row's file, resolved against the folder of the table; "" if the cell is empty.
  std::string path(std::int64_t row) const;
  /// Reads the row's file. Throws SampleError with the row's place.
  void read(std::int64_t row, const ReadHint& hint, Array& out) const;
  /// As Source::inspect(). Throws SampleError.
  std::optional<ClipInfo> inspect(std::int64_t row) const;
  /// Throws Error{kData} if none of the files of up to 16 rows exists. For columns of files.
  void require_files() const;
  /// "age  number  17 to 90, 3 missing; normalised: mean 38.6, deviation 13.6" for all rows of the table. `width`: the
  /// width of the name, in characters.
  std::string line(std::size_t width) const;
  /// "age  39 -> 0.0271"; "kind  dog -> word 2 of 5".
  std::string line_of(std::int64_t row, std::size_t width) const;
  /// The cell as printable text on one line; "(missing)" for a missing number, date or category.
  std::string cell_text(std::int64_t row) const;
  /// Number of cells in the table with words outside the encoder's vocabulary.
  std::int64_t unknown() const { return unknown_; }

 private:
  std::string contents() const;
  template <class F>
  void with_file(std::int64_t row, const F& use) const;
  std::int32_t word_index(std::int64_t row) const;
  double number(std::int64_t row) const;
  std::string text(std::int64_t row) const;
  [[noreturn]] void fail(std::int64_t row, const Error& error) const;

  std::shared_ptr<const CsvRows> rows_;
  std::string name_;
  std::unique_ptr<const Encoder> encoder_;
  const NumberEncoder* numbers_ = nullptr;
  const WordEncoder* words_ = nullptr;
  const TextEncoder* texts_ = nullptr;
  const FileEncoder* files_ = nullptr;
  int column_ = 0, cell_ = 0;
  bool dates_ = false;
  std::vector<std::int32_t> index_of_code_;
  std::int64_t unknown_ = 0;
};

}  // namespace dptrain::data
