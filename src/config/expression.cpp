#include "config/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace dptrain::config {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  std::optional<double> all() {
    const auto value = sum();
    skip_spaces();
    return value && at_ == end_ && std::isfinite(*value) ? value : std::nullopt;
  }

 private:
  using Value = std::optional<double>;

  void skip_spaces() {
    while (at_ != end_ && *at_ == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  Value sum() {
    Value left = product();
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const Value right = product();
      if (!right) return right;
      *left += plus ? *right : -*right;
    }
    return left;
  }

  Value product() {
    Value left = sign();
    while (left) {
      const bool times = take('*');
      if (!times && !take('/')) break;
      const Value right = sign();
      if (!right || (!times && *right == 0)) return std::nullopt;
      *left = times ? *left * *right : *left / *right;
    }
    return left;
  }

  /// One sign at most: "---" starts a document in YAML, so a number must not begin with it.
  Value sign() {
    const bool negative = take('-');
    if (!negative) take('+');
    const Value value = percent();
    return value && negative ? -*value : value;
  }

  Value percent() {
    Value value = primary();
    if (value && take('%')) *value /= 100;
    return value;
  }

  Value primary() {
    for (const Function& function : kFunctions)
      if (take_call(function.name)) {
        const Value value = parentheses();
        return value ? function.apply(*value) : value;
      }
    if (take('(')) return parentheses();
    if (at_ == end_ || (!is_digit(*at_) && *at_ != '.'))
      return std::nullopt;  // keeps from_chars away from "inf" and "nan"
    double value = 0;
    const auto [rest, error] = std::from_chars(at_, end_, value);
    if (error != std::errc()) return std::nullopt;
    at_ = rest;
    return value;
  }

  /// What stands behind an opening one.
  Value parentheses() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    const Value value = sum();
    --depth_;
    return take(')') ? value : std::nullopt;
  }

  /// The name of a function with its opening parenthesis.
  bool take_call(std::string_view name) {
    skip_spaces();
    if (!std::string_view(at_, end_).starts_with(name)) return false;
    const char* const start = at_;
    at_ += name.size();
    if (take('(')) return true;
    at_ = start;
    return false;
  }

  struct Function {
    std::string_view name;
    double (*apply)(double);
  };
  static constexpr std::array<Function, 2> kFunctions{Function{"floor", [](double x) { return std::floor(x); }},
                                                      {"multiple_of_8", multiple_of_8}};

  static constexpr int kMaxDepth = 100;  // of parentheses; far above any use, far below the end of the stack
  const char* at_;
  const char* end_;
  int depth_ = 0;
};

template <std::size_t n>
bool among(const std::array<std::string_view, n>& words, std::string_view text) {
  for (const std::string_view word : words)
    if (word == text) return true;
  return false;
}

}  // namespace

std::optional<double> evaluate(std::string_view text) { return Parser(text).all(); }

double multiple_of_8(double x) {
  const double nearest = std::max(8.0, std::floor((x + 4) / 8) * 8);
  return nearest < 0.9 * x ? nearest + 8 : nearest;
}

bool is_number_literal(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || (!is_digit(text[0]) && text[0] != '.')) return false;
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size();
}

std::optional<bool> as_boolean(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kTrue{"true", "True", "TRUE"}, kFalse{"false", "False", "FALSE"};
  if (among(kTrue, text)) return true;
  if (among(kFalse, text)) return false;
  return std::nullopt;
}

bool is_null_word(std::string_view text) {
  static constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};
  return among(kNull, text);
}

bool needs_quotes_to_be_text(std::string_view text) {
  return is_null_word(text) || as_boolean(text).has_value() || evaluate(text).has_value();
}

}  // namespace dptrain::config
