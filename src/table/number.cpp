#include "table/number.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/format.h"
#include "core/text.h"
#include "table/fields.h"
#include "table/row.h"

namespace dptrain::table {
namespace {

constexpr std::array<std::string_view, 6> kSigns{"$", "%", "€", "£", "¥", "₹"};
/// A space, and the no-break spaces U+00A0 and U+202F.
constexpr std::array<std::string_view, 3> kSpaces{" ", "\xC2\xA0", "\xE2\x80\xAF"};

constexpr std::size_t kPointGroups = 3;  // index in kNumberMarks: 1.234,5

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
NumberFault read_decimal(std::string_view text, T& out) {
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  const char first = text.size() > (has_sign ? 1U : 0U) ? text[has_sign ? 1 : 0] : '\0';
  // The library takes words for infinity and NaN, and no plus.
  if (!is_digit(first) && first != '.') return NumberFault::kNoNumber;
  if (text.front() == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto result = fast_float::from_chars(text.data(), end, out);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return NumberFault::kNoNumber;
  return std::isfinite(out) ? NumberFault::kNone : NumberFault::kOutOfRange;
}

/// Moves a + or - from the beginning of `text` to `out`.
void take_plus_or_minus(std::string_view& text, std::string& out) {
  if (!out.empty() || text.empty() || (text.front() != '+' && text.front() != '-')) return;
  out += text.front();
  text.remove_prefix(1);
}

std::size_t space_length(std::string_view text) {
  for (const std::string_view space : kSpaces)
    if (text.starts_with(space)) return space.size();
  return 0;
}

/// Removes the currency or percent sign, with spaces between it and the number. False: there is none.
bool drop_sign(std::string_view& text, std::string_view sign) {
  if (text.starts_with(sign)) {
    text.remove_prefix(sign.size());
    while (const std::size_t space = space_length(text)) text.remove_prefix(space);
    return true;
  }
  if (!text.ends_with(sign)) return false;
  text.remove_suffix(sign.size());
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view space : kSpaces)
      if (text.ends_with(space)) text.remove_suffix(space.size()), more = true;
  }
  return true;
}

/// The number as read_decimal() takes it; false where groups of digits do not fit.
bool to_plain(std::string_view text, const NumberFormat& format, std::string& out) {
  out.clear();
  take_plus_or_minus(text, out);
  if (!format.sign.empty()) {
    if (!drop_sign(text, format.sign)) return false;
    take_plus_or_minus(text, out);
  }
  const bool leading_zero = text.starts_with('0');
  std::size_t digits = 0;  // in this group
  bool grouped = false;
  while (!text.empty()) {
    const char c = text.front();
    std::size_t mark = format.thousands == '\0'  ? 0
                       : format.thousands == ' ' ? space_length(text)
                                                 : c == format.thousands;
    if (is_digit(c)) {
      out += c;
      ++digits;
      mark = 1;
    } else if (mark > 0) {
      if (grouped ? digits != 3 : digits < 1 || digits > 3 || leading_zero) return false;
      grouped = true;
      digits = 0;
    } else {
      break;
    }
    text.remove_prefix(mark);
  }
  if (grouped && digits != 3) return false;
  if (text.starts_with(format.decimal)) {
    out += '.';
    text.remove_prefix(1);
  } else if (text.starts_with('.') || (grouped && !text.empty())) {
    return false;
  }
  out += text;
  return true;
}

template <class T>
NumberFault read_formatted(std::string_view text, const NumberFormat& format, T& out) {
  if (format == NumberFormat{}) return read_decimal(text, out);
  std::string plain;
  return to_plain(text, format, plain) ? read_decimal(plain, out) : NumberFault::kNoNumber;
}

/// "`decimal: \",\"`", "`thousands: \" \"`": the keys of other formats in which text is a number, or "".
std::string other_format(std::string_view text, const NumberFormat& format) {
  const NumberMarks marks = marks_of(text, format.sign);
  if (marks == 0) return "";
  const auto [decimal, thousands] = kNumberMarks[static_cast<std::size_t>(std::countr_zero(marks))];
  std::vector<std::string> keys;
  if (decimal != format.decimal) keys.push_back(fmt::format("`decimal: \"{}\"`", decimal));
  if (thousands != '\0' && thousands != format.thousands) keys.push_back(fmt::format("`thousands: \"{}\"`", thousands));
  return join(keys, " and ");
}

}  // namespace

NumberFormat number_format(std::size_t i, std::string sign) {
  return {.decimal = kNumberMarks[i].first, .thousands = kNumberMarks[i].second, .sign = std::move(sign)};
}

std::string_view sign_in(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (!text.empty() && is_digit(text.front()) && is_digit(text.back())) return "";
  for (const std::string_view sign : kSigns)
    if (text.starts_with(sign) || text.ends_with(sign)) return sign;
  return "";
}

NumberMarks marks_of(std::string_view text, std::string_view sign) {
  double ignored = 0;
  const auto fits = [&](std::size_t i) {
    return read_number(text, number_format(i, std::string(sign)), ignored) != NumberFault::kNoNumber;
  };
  // The usual case, for speed: digits and perhaps a point.
  const auto is_usual = [](char c) { return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; };
  if (sign.empty() && std::ranges::all_of(text, is_usual)) {
    const bool plain = read_decimal(text, ignored) != NumberFault::kNoNumber;
    const std::size_t point = text.rfind('.');
    if (point == std::string_view::npos) return plain ? kAllMarks : 0;
    const bool may_group = text.size() - point == 4;
    return (plain ? kPointMarks : 0) | (may_group && fits(kPointGroups) ? 1U << kPointGroups : 0);
  }
  NumberMarks marks = 0;
  for (std::size_t i = 0; i < kNumberMarks.size(); ++i)
    if (fits(i)) marks |= 1U << i;
  return marks;
}

NumberFault read_number(std::string_view text, float& out) { return read_decimal(text, out); }
NumberFault read_number(std::string_view text, double& out) { return read_decimal(text, out); }
NumberFault read_number(std::string_view text, const NumberFormat& format, float& out) {
  return read_formatted(text, format, out);
}
NumberFault read_number(std::string_view text, const NumberFormat& format, double& out) {
  return read_formatted(text, format, out);
}

std::string words_hint(std::string_view text, std::string_view column) {
  return fmt::format("; try `missing_values: [{}]`, or `columns: {{{}: StringLookup}}` for a column of words",
                     printable(text.substr(0, 40)), printable(column));
}

std::string number_words(std::string_view text, NumberFault fault, const NumberFormat& format,
                         std::string_view column) {
  const std::string what = found(text);
  if (fault == NumberFault::kOutOfRange) return what + ", expected a number within the range of floats, 3.4e38";
  if (const std::string other = other_format(text, format); !other.empty())
    return fmt::format("{}, expected a number with a decimal {}; try {}", what,
                       format.decimal == '.' ? "point" : "comma", other);
  double ignored = 0;
  if (!format.sign.empty() && read_number(text, format, ignored) == NumberFault::kNoNumber && marks_of(text, "") != 0)
    return fmt::format("{}, expected a number with the sign {}, as in the other rows; write it in all rows or in none",
                       what, format.sign);
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (small.find("inf") != std::string::npos)
    return fmt::format("{}, expected a finite number; try `missing_values: [{}]`", what, printable(text));
  if (small.starts_with("0x")) return what + ", expected a decimal number";
  return what + ", expected a number" + words_hint(text, column);
}

}  // namespace dptrain::table
