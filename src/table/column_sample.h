#pragma once

// ColumnSample: statistics of the first fields of a column, and the type that they suggest. Owned by look(); one
// thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "table/look.h"
#include "table/schema.h"

namespace dptrain::table {

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
  /// Before type() and facts(): chooses the format of numbers.
  NumberGuess settle(const NumberChoice& choice);

  /// Whether all cells but few are numbers.
  bool are_numbers() const { return most(guess_.numbers); }
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

  bool most(std::int64_t cells) const;
  std::int64_t of_form(DateForm form) const { return dates_[static_cast<std::size_t>(form)]; }
  bool fits(DateForm form) const { return most(of_form(form)); }
  bool is_id(const std::string& name) const;
  bool is_text() const;
  void add_running(const std::string& text);
  void add_number(const std::string& text);
  void add_date(const std::string& text);
  void put_range(ColumnType type, ColumnFacts& facts) const;
  std::string trouble() const;

  std::int64_t filled_ = 0, missing_ = 0, spaces_ = 0, bytes_ = 0;
  std::vector<Sign> signs_;
  std::int64_t numbers_ = 0;  // cells that are numbers in some format
  NumberGuess guess_;
  std::optional<double> first_, before_;  // while running_
  bool running_ = true;                   // whole numbers, each one more than that before it
  std::array<std::int64_t, 3> dates_{};   // cells, by DateForm
  std::string shape_;                     // of the first one
  bool one_shape_ = true;
  std::unordered_set<std::string> distinct_;
  std::vector<std::string> examples_;
};

}  // namespace dptrain::table
