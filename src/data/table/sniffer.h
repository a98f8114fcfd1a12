#pragma once

// Detects the types of columns from the first rows of files. Called by one thread; reads some MiB of the first file and
// the header of each.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/files.h"
#include "data/table/table.h"

namespace dptrain::data::table {

/// Statistics of a column in the sample.
struct ColumnFacts {
  std::int64_t filled = 0;            ///< fields that are not missing
  std::int64_t missing = 0;           ///< missing fields
  std::int64_t distinct = 0;          ///< different filled fields
  std::int64_t mismatches = 0;        ///< fields that are not of the column's type, which is a number or a date
  bool numbers = false;               ///< at least 95% of the fields are numbers, whatever the type
  bool whole = false;                 ///< numbers without a fraction
  double min = 0, max = 0;            ///< range of numbers; dates in minutes since 1970
  double mean_length = 0;             ///< bytes
  std::vector<std::string> examples;  ///< up to five different fields
  std::string format_problem;         ///< why the format of fields that resemble numbers is unclear; "": no problem
};

struct SniffOptions {
  DialectHints dialect{};
  std::map<std::string, ColumnType> declared{};  ///< types that the config sets, by column
  std::vector<std::string> missing = default_missing_words();
  std::int64_t rows = 10'000;    ///< least rows of the sample, if the file has as many
  std::int64_t bytes = 1 << 20;  ///< least bytes of the sample
  bool ranges = true;            ///< false: does not set whole, min and max of ColumnFacts
};

struct SniffResult {
  Schema schema;
  std::vector<ColumnFacts> facts;  ///< of each column
  std::int64_t rows = 0;           ///< rows in the sample
  std::int64_t bad_rows = 0;       ///< rows in the sample that cannot be read
  bool all = false;                ///< whether the sample has all rows of all files
};

/// Detects types in this order: numbers; dates of one form; ids, which all differ (integers that count from 0 or 1 or
/// have the name of an id, or words of one shape such as UUIDs); text, which mostly differs, has spaces or is long;
/// categories. Of 20 or more fields 5% may be other than a number or a date: they are bad cells of such a column. A
/// column without any filled field is a category.
///
/// Formats of numbers: each column has the one that fits the most fields. If several fit equally well,
/// `dialect.decimal` decides, else the mark of a column that has only one, else the first of kNumberMarks. A column of
/// fields like 1,234 alone then has `format_problem`.
///
/// Rows that break RFC 4180 are skipped here and reported when they are read. Throws Error{kData} for files that cannot
/// be opened, are empty or differ in their columns (with headers: in names; another order is fine), for a header with a
/// name twice and for bytes in UTF-16; Error{kUsage} for a declared column that is not there.
SniffResult sniff(const std::vector<std::string>& files, const SniffOptions& options);
/// For files that are open already, or in memory.
SniffResult sniff(const std::vector<std::shared_ptr<const FileBytes>>& files, const SniffOptions& options);

// ColumnSample: statistics of the first fields of a column, and the type that they suggest. Owned by sniff(); one
// thread.

/// Formats that the numbers of a column may have.
struct NumberChoice {
  NumberMarks allowed = kAllMarks;
  char preferred = '\0';  ///< decimal mark to choose if several formats fit equally well
};

/// The format of a column's numbers.
struct NumberGuess {
  NumberFormat format{};
  std::int64_t numbers = 0;  ///< cells that are numbers in this format
  char decimal = '\0';       ///< the mark, if no other one fits as well
  bool ambiguous = false;    ///< 1,234 may be 1234 or 1.234 in all cells
};

class ColumnSample {
 public:
  void add(const std::string& text, bool missing);
  /// Chooses the format of numbers. Called before type() and facts().
  NumberGuess choose_format(const NumberChoice& choice);

  /// Whether all cells but few are numbers.
  bool are_numbers() const { return is_nearly_all(guess_.numbers); }
  ColumnType type(const std::string& name) const;
  const NumberFormat& numbers() const { return guess_.format; }
  /// The form of dates; none if the cells are no dates, or day and month could be exchanged.
  std::optional<DateForm> form() const;
  /// Whether all could be dates with the day first as well as with the month first.
  bool ambiguous_dates() const {
    return fits(DateForm::kDayFirst) && of_form(DateForm::kDayFirst) == of_form(DateForm::kMonthFirst) &&
           !fits(DateForm::kIso);
  }
  /// `type`: of the column, as it will be read.
  ColumnFacts facts(ColumnType type, bool ranges) const;

 private:
  struct Sign {
    std::string sign;
    std::array<std::int64_t, kNumberMarks.size()> fitting{};  // cells, by format
  };

  bool is_nearly_all(std::int64_t cells) const;
  std::int64_t of_form(DateForm form) const { return dates_[static_cast<std::size_t>(form)]; }
  bool fits(DateForm form) const { return is_nearly_all(of_form(form)); }
  bool is_id(const std::string& name) const;
  bool is_text() const;
  void add_running(const std::string& text);
  void add_number(const std::string& text);
  void add_date(const std::string& text);
  void put_range(ColumnType type, ColumnFacts& facts) const;
  std::string format_problem() const;

  std::int64_t filled_ = 0, missing_ = 0, spaces_ = 0, bytes_ = 0;
  std::vector<Sign> signs_;
  std::int64_t numbers_ = 0;  // cells that are numbers in some format
  NumberGuess guess_;
  std::optional<double> first_, before_;  // while running_
  bool running_ = true;                   // cells are consecutive whole numbers
  std::array<std::int64_t, 3> dates_{};   // cells, by DateForm
  std::string shape_;                     // of the first cell
  bool one_shape_ = true;
  std::unordered_set<std::string> distinct_;
  std::vector<std::string> examples_;
};

}  // namespace dptrain::data::table
