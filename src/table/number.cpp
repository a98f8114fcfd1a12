#include "table/number.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <cmath>

#include "table/fields.h"

namespace dptrain::table {
namespace {

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

}  // namespace

NumberFault read_number(std::string_view text, float& out) { return read_decimal(text, out); }
NumberFault read_number(std::string_view text, double& out) { return read_decimal(text, out); }

std::string number_words(std::string_view text, NumberFault fault) {
  const std::string what = found(text);
  if (fault == NumberFault::kOutOfRange) return what + ", expected a number within the range of floats, 3.4e38";
  std::string without(text);
  std::erase(without, ',');
  float ignored = 0;
  const bool commas = without.size() < text.size() && read_number(without, ignored) != NumberFault::kNoNumber;
  if (commas)
    return what + ", expected a number with a decimal point and nothing between its thousands; rewrite the column";
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (small.find("inf") != std::string::npos)
    return what + ", expected a finite number; if it stands for a missing one, say so";
  if (small.starts_with("0x")) return what + ", expected a decimal number";
  return what + ", expected a number; say that the word stands for a missing one, or declare the column a category";
}

}  // namespace dptrain::table
