#include "table/column_sample.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "table/date.h"
#include "table/number.h"

namespace dptrain::table {
namespace {

constexpr std::size_t kExamples = 5;

/// "user_123" -> "a_9", so that names made alike look alike. Words of hexadecimal digits all have the shape of their
/// length.
std::string shape_of(const std::string& text) {
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0 || c == '-'; };
  if (text.size() >= 8 && std::all_of(text.begin(), text.end(), is_hex))
    return "hexadecimal of " + std::to_string(text.size());
  std::string shape;
  for (const unsigned char c : text) {
    const char kind = std::isdigit(c) != 0 ? '9' : std::isalpha(c) != 0 || c >= 0x80 ? 'a' : static_cast<char>(c);
    if (shape.empty() || shape.back() != kind) shape.push_back(kind);
  }
  return shape;
}

bool is_name_of_ids(std::string name) {
  const bool camel = name.size() > 2 && (name.ends_with("Id") || name.ends_with("ID"));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return camel || name == "id" || name == "index" || name == "uuid" || name == "guid" || name == "key" ||
         name.ends_with("_id") || name.ends_with(" id") || name.ends_with("-id");
}

}  // namespace

void ColumnSample::add(const std::string& text, bool missing) {
  if (missing) {
    ++missing_;
    return;
  }
  ++filled_;
  bytes_ += static_cast<std::int64_t>(text.size());
  spaces_ += std::count(text.begin(), text.end(), ' ');
  double value = 0;
  if (numbers_ && read_number(text, value) == NumberFault::kNoNumber) numbers_ = false;
  if (numbers_) {
    const bool integer = std::floor(value) == value && text.find_first_of(".eE") == std::string::npos;
    whole_ = whole_ && std::floor(value) == value;
    running_ = running_ && integer && (!before_ || value == *before_ + 1);
    before_ = value;
    least_ = std::min(least_.value_or(value), value);
    most_ = std::max(most_.value_or(value), value);
  }
  for (std::size_t f = 0; f < fits_.size(); ++f) {
    if (!fits_[f]) continue;
    const auto date = read_date(text, static_cast<DateForm>(f));
    fits_[f] = date.has_value();
    if (!date) continue;
    first_date_[f] = std::min(first_date_[f].value_or(*date), *date);
    last_date_[f] = std::max(last_date_[f].value_or(*date), *date);
  }
  if (one_shape_) {
    const std::string shape = shape_of(text);
    if (filled_ == 1) shape_ = shape;
    one_shape_ = shape == shape_;
  }
  if (distinct_.insert(text).second && examples_.size() < kExamples) examples_.push_back(text);
}

std::optional<DateForm> ColumnSample::form() const {
  if (ambiguous()) return std::nullopt;
  for (const DateForm form : {DateForm::kIso, DateForm::kDayFirst, DateForm::kMonthFirst})
    if (fits(form)) return form;
  return std::nullopt;
}

bool ColumnSample::is_id(const std::string& name) const {
  constexpr std::int64_t kFew = 20;  // of which all may be different by chance
  if (filled_ < kFew || missing_ > 0 || static_cast<std::int64_t>(distinct_.size()) < filled_) return false;
  // Rows are counted from 0 or 1; years run, too.
  if (numbers_) return (running_ && *least_ <= 1) || (whole_ && is_name_of_ids(name));
  const bool made_alike = one_shape_ && (shape_.find('9') != std::string::npos || shape_.starts_with("hexadecimal"));
  return spaces_ == 0 && (made_alike || is_name_of_ids(name));
}

bool ColumnSample::is_text() const {
  constexpr std::int64_t kLong = 64;
  return 2 * static_cast<std::int64_t>(distinct_.size()) > filled_ && (spaces_ >= filled_ || bytes_ >= kLong * filled_);
}

ColumnType ColumnSample::type(const std::string& name) const {
  if (filled_ == 0) return ColumnType::kCategory;
  if (!numbers() && form()) return ColumnType::kDate;  // all different as they may be
  if (is_id(name)) return ColumnType::kId;
  if (numbers()) return ColumnType::kNumber;
  return is_text() ? ColumnType::kText : ColumnType::kCategory;
}

ColumnFacts ColumnSample::facts() const {
  ColumnFacts facts;
  facts.filled = filled_;
  facts.missing = missing_;
  facts.distinct = static_cast<std::int64_t>(distinct_.size());
  facts.whole = numbers() && whole_;
  if (numbers()) {
    facts.least = *least_;
    facts.most = *most_;
  } else if (const auto dates = form()) {
    facts.least = *first_date_[static_cast<std::size_t>(*dates)];
    facts.most = *last_date_[static_cast<std::size_t>(*dates)];
  }
  facts.mean_length = filled_ > 0 ? static_cast<double>(bytes_) / static_cast<double>(filled_) : 0;
  facts.examples = examples_;
  return facts;
}

}  // namespace dptrain::table
