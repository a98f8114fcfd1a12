#pragma once

// ColumnSample: what the first fields of one column are, and the type that they suggest. Owned by look(); one thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

#include "table/look.h"
#include "table/schema.h"

namespace dptrain::table {

class ColumnSample {
 public:
  void add(const std::string& text, bool missing);

  ColumnType type(const std::string& name) const;
  /// How dates are written; nothing where they are not, or where day and month could change places.
  std::optional<DateForm> form() const;
  /// Whether all could be dates with the day first as well as with the month first.
  bool ambiguous() const {
    return filled_ > 0 && !fits(DateForm::kIso) && fits(DateForm::kDayFirst) && fits(DateForm::kMonthFirst);
  }
  ColumnFacts facts() const;

 private:
  bool fits(DateForm form) const { return filled_ > 0 && fits_[static_cast<std::size_t>(form)]; }
  bool numbers() const { return filled_ > 0 && numbers_; }
  bool is_id(const std::string& name) const;
  bool is_text() const;

  std::int64_t filled_ = 0, missing_ = 0, spaces_ = 0, bytes_ = 0;
  bool numbers_ = true, whole_ = true, running_ = true;
  std::array<bool, 3> fits_{true, true, true};  // by DateForm
  std::optional<double> least_, most_, before_;
  std::optional<std::int32_t> first_date_[3], last_date_[3];
  std::string shape_;  // of the first one
  bool one_shape_ = true;
  std::unordered_set<std::string> distinct_;
  std::vector<std::string> examples_;
};

}  // namespace dptrain::table
