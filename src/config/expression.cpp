#include "config/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace dptrain::config {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Nothing: not an expression. NaN: an expression without a value, such as a division by zero; NaN propagates.
class Parser {
 public:
  Parser(std::string_view text, NamedValues values)
      : at_(text.data()), end_(text.data() + text.size()), values_(values) {}

  std::optional<double> all() {
    const auto value = choice();
    skip_spaces();
    return at_ == end_ ? value : std::nullopt;
  }

 private:
  using Value = std::optional<double>;
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  void skip_spaces() {
    while (at_ != end_ && *at_ == ' ') ++at_;
  }
  bool take(std::string_view sign) {
    skip_spaces();
    if (!std::string_view(at_, end_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  /// Takes `word` unless more letters follow it.
  bool take_word(std::string_view word) {
    const char* const start = at_;
    if (take(word) && (at_ == end_ || !is_name(*at_))) return true;
    at_ = start;
    return false;
  }

  Value choice() {
    const Value value = sum();
    if (!value || !take_word("if")) return value;
    const Value holds = condition();
    if (!holds || !take_word("else")) return std::nullopt;
    const DepthGuard deeper(depth_);
    const Value other = deeper.is_within_limit() ? choice() : std::nullopt;
    if (!other) return other;
    return std::isnan(*holds) ? *holds : *holds != 0 ? value : other;
  }

  /// 1 or 0, or NaN if an operand has no value.
  Value condition() {
    Value any = all_of();
    while (any && take_word("or")) {
      const Value next = all_of();
      if (!next) return next;
      *any = *any == 1 ? 1 : *any == 0 ? *next : kNone;
    }
    return any;
  }

  Value all_of() {
    Value all = comparison();
    while (all && take_word("and")) {
      const Value next = comparison();
      if (!next) return next;
      *all = *all == 0 ? 0 : *all == 1 ? *next : kNone;
    }
    return all;
  }

  Value comparison() {
    bool negated = false;
    while (take_word("not")) negated = !negated;
    const Value left = sum();
    if (!left) return left;
    for (const Comparison& comparison : kComparisons)
      if (take(comparison.sign)) {
        const Value right = sum();
        if (!right) return right;
        if (std::isnan(*left) || std::isnan(*right)) return kNone;
        return comparison.holds(*left, *right) != negated ? 1 : 0;
      }
    return std::nullopt;
  }

  Value sum() {
    Value left = product();
    while (left) {
      const bool plus = take("+");
      if (!plus && !take("-")) break;
      const Value right = product();
      if (!right) return right;
      *left += plus ? *right : -*right;
    }
    return left;
  }

  Value product() {
    Value left = sign();
    while (left) {
      const bool times = take("*");
      if (!times && !take("/")) break;
      const Value right = sign();
      if (!right) return right;
      *left = times ? *left * *right : *right == 0 ? kNone : *left / *right;
    }
    return left;
  }

  /// At most one sign: "---" starts a document in YAML, so a number must not begin with it.
  Value sign() {
    const bool negative = take("-");
    if (!negative) take("+");
    const Value value = power();
    return value && negative ? -*value : value;
  }

  Value power() {
    const Value base = percent();
    if (!base || !take("**")) return base;
    const DepthGuard deeper(depth_);
    const Value exponent = deeper.is_within_limit() ? sign() : std::nullopt;
    if (!exponent) return exponent;
    return std::isnan(*base) || std::isnan(*exponent) ? kNone : std::pow(*base, *exponent);
  }

  Value percent() {
    Value value = primary();
    if (value && take("%")) *value /= 100;
    return value;
  }

  Value primary() {
    for (const Function& function : kFunctions)
      if (take_call(function.name)) {
        const Value value = parentheses();
        return value && !std::isnan(*value) ? function.apply(*value) : value;
      }
    if (take("(")) return parentheses();
    for (const auto& [name, value] : values_)
      if (take_word(name)) return value;
    skip_spaces();
    if (at_ == end_ || (!is_digit(*at_) && *at_ != '.'))
      return std::nullopt;  // keeps from_chars away from "inf" and "nan"
    double value = 0;
    const auto [rest, error] = std::from_chars(at_, end_, value);
    if (error != std::errc()) return std::nullopt;
    at_ = rest;
    return value;
  }

  /// The rest of a parenthesized expression, after its '('.
  Value parentheses() {
    const DepthGuard deeper(depth_);
    if (!deeper.is_within_limit()) return std::nullopt;
    const Value value = choice();
    return take(")") ? value : std::nullopt;
  }

  /// Takes a function's name and its '('.
  bool take_call(std::string_view name) {
    const char* const start = at_;
    if (take(name) && take("(")) return true;
    at_ = start;
    return false;
  }

  struct Function {
    std::string_view name;
    double (*apply)(double);
  };
  static constexpr std::array<Function, 5> kFunctions{Function{"floor", [](double x) { return std::floor(x); }},
                                                      {"multiple_of_8", multiple_of_8},
                                                      {"exp", [](double x) { return std::exp(x); }},
                                                      {"sqrt", [](double x) { return std::sqrt(x); }},
                                                      {"cos", [](double x) { return std::cos(x); }}};

  /// Counts the depth of recursion.
  class DepthGuard {
   public:
    explicit DepthGuard(int& depth) : depth_(++depth) {}
    ~DepthGuard() { --depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    bool is_within_limit() const { return depth_ <= kMaxDepth; }

   private:
    static constexpr int kMaxDepth = 100;  // far above any real use, far below the limit of the stack
    int& depth_;
  };

  const char* at_;
  const char* end_;
  NamedValues values_;
  int depth_ = 0;
};

template <std::size_t n>
bool among(const std::array<std::string_view, n>& words, std::string_view text) {
  for (const std::string_view word : words)
    if (word == text) return true;
  return false;
}

}  // namespace

std::optional<double> evaluate(std::string_view text) {
  const auto value = Parser(text, {}).all();
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> evaluate(std::string_view text, NamedValues values) {
  const auto value = Parser(text, values).all();
  return value && !std::isfinite(*value) ? std::optional(std::numeric_limits<double>::quiet_NaN()) : value;
}

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
