#pragma once

// A column of a table, as its encoder learns from it and as it is encoded.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "data/sources/csv_found.h"
#include "data/sources/csv_rows.h"

namespace dptrain::data {

/// The column in these samples, for learn(); `found` of the same. Refers to all three.
std::unique_ptr<TrainingColumn> training_column(const CsvRows& rows, const std::vector<std::int64_t>& samples,
                                                const CsvFound& found, const std::string& name);

/// A column's cells as numbers. Any thread.
class CsvFeature {
 public:
  /// Throws Error{kData} where the table has a word that the encoder refuses, with its place.
  CsvFeature(std::shared_ptr<const CsvRows> rows, const CsvLearned::Column& column);

  const std::string& name() const { return name_; }
  const Encoder& encoder() const { return *encoder_; }
  /// Of numbers that are mapped and nothing else: the map, and where their cell stands in a row.
  std::optional<LinearMap> linear() const { return numbers_ != nullptr && !dates_ ? numbers_->linear() : std::nullopt; }
  int cell() const { return cell_; }
  /// Writes encoder().floats() or ids() of them for a row of the table. Throws Error{kData} with the place.
  /// Not of files.
  void encode(std::int64_t row, float* out) const;
  void encode_ids(std::int64_t row, std::int32_t* out) const;
  /// Of paths of files: their encoder; else null.
  const FileEncoder* files() const { return files_; }
  /// Of the file that a row names, by the folder of the table; "" where the cell is empty.
  std::string path(std::int64_t row) const;
  /// Reads it. Throws SampleError with the row's place.
  void read(std::int64_t row, const ReadHint& hint, Array& out) const;
  /// As Source::inspect(). Throws SampleError.
  std::optional<ClipInfo> inspect(std::int64_t row) const;
  /// Of files: looks at a few rows. Throws Error{kData} where none of the files is there, with the place of the first.
  void look_for_files() const;
  /// "age  number  17 to 90, 3 missing; normalised: mean 38.6, deviation 13.6", of all rows of the table; the name
  /// is `width` wide.
  std::string line(std::size_t width) const;
  /// "age  39 -> 0.0271"; "kind  dog -> word 2 of 5".
  std::string line_of(std::int64_t row, std::size_t width) const;
  /// As it stands in the table, or "(missing)"; in one line.
  std::string cell_text(std::int64_t row) const;
  /// Cells of the whole table with words that the encoder does not know.
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
