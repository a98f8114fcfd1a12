#include "data/table/date.h"

#include <chrono>
#include <limits>

#include "core/format.h"

namespace dptrain::data::table {
namespace {

/// Parses text from the front.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  char peek() const { return text_.empty() ? '\0' : text_.front(); }
  bool take(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// A number of `least` to `most` digits.
  std::optional<int> number(std::size_t least, std::size_t most) {
    int value = 0;
    std::size_t digits = 0;
    for (; digits < most && peek() >= '0' && peek() <= '9'; ++digits) {
      value = 10 * value + (peek() - '0');
      text_.remove_prefix(1);
    }
    if (digits < least) return std::nullopt;
    return value;
  }

 private:
  std::string_view text_;
};

std::optional<std::chrono::sys_days> read_day(TextCursor& text, DateForm form) {
  std::optional<int> year, month, day;
  if (form == DateForm::kIso) {
    if (!(year = text.number(4, 4)) || !text.take('-') || !(month = text.number(2, 2)) || !text.take('-') ||
        !(day = text.number(2, 2)))
      return std::nullopt;
  } else {
    std::optional<int>& first = form == DateForm::kDayFirst ? day : month;
    std::optional<int>& second = form == DateForm::kDayFirst ? month : day;
    first = text.number(1, 2);
    const char between = text.peek();
    if (!first || (between != '/' && between != '.' && between != '-') || !text.take(between) ||
        !(second = text.number(1, 2)) || !text.take(between) || !(year = text.number(4, 4)))
      return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (*year == 0 || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

/// Minutes of 10:20, 10:20:30 and 10:20:30.5, with 24:00 for the end of the day.
std::optional<int> read_time(TextCursor& text) {
  const auto hours = text.number(1, 2);
  if (!hours || *hours > 24 || !text.take(':')) return std::nullopt;
  const auto minutes = text.number(2, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  int seconds = 0;
  if (text.take(':')) {
    const auto whole = text.number(2, 2);
    if (!whole || *whole > 60) return std::nullopt;
    seconds = *whole;
    if ((text.take('.') || text.take(',')) && !text.number(1, 9)) return std::nullopt;
  }
  if (*hours == 24 && (*minutes != 0 || seconds != 0)) return std::nullopt;
  return 60 * *hours + *minutes;
}

/// Minutes east of UTC.
std::optional<int> read_zone(TextCursor& text) {
  if (text.empty() || text.take('Z') || text.take('z')) return 0;
  const bool west = text.take('-');
  if (!west && !text.take('+')) return std::nullopt;
  const auto hours = text.number(2, 2);
  if (!hours || *hours > 23) return std::nullopt;
  int minutes = 0;
  if (text.take(':') || !text.empty()) {
    const auto read = text.number(2, 2);
    if (!read || *read > 59) return std::nullopt;
    minutes = *read;
  }
  return (west ? -1 : 1) * (60 * *hours + minutes);
}

}  // namespace

std::optional<std::int32_t> read_date(std::string_view whole, DateForm form) {
  TextCursor text(whole);
  const auto day = read_day(text, form);
  if (!day) return std::nullopt;
  std::int64_t minutes = std::int64_t{day->time_since_epoch().count()} * 24 * 60;
  if (!text.empty()) {
    if (!text.take('T') && !text.take('t') && !text.take(' ')) return std::nullopt;
    const auto time = read_time(text);
    if (!time) return std::nullopt;
    const bool apart = text.take(' ');
    if (apart && text.empty()) return std::nullopt;
    const auto zone = read_zone(text);
    if (!zone || !text.empty()) return std::nullopt;
    minutes += *time - *zone;
  }
  if (minutes <= std::numeric_limits<std::int32_t>::min() || minutes > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  return static_cast<std::int32_t>(minutes);
}

std::string_view date_example(DateForm form) {
  switch (form) {
    case DateForm::kIso: return "2026-11-25";
    case DateForm::kDayFirst: return "25/11/2026";
    case DateForm::kMonthFirst: return "11/25/2026";
  }
  return "";
}

std::string date_text(std::int32_t minutes) {
  using namespace std::chrono;
  const sys_time<std::chrono::minutes> moment{std::chrono::minutes(minutes)};
  const auto day = floor<days>(moment);
  const year_month_day date(day);
  std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  if (const auto of_day = (moment - day).count(); of_day != 0)
    text += fmt::format(" {:02}:{:02}", of_day / 60, of_day % 60);
  return text;
}

}  // namespace dptrain::data::table
