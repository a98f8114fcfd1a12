#pragma once

// Reads plain scalars as numbers, booleans or null. Pure functions on text.

#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace dptrain::config {

/// The value of "1/255", "0.1%", "2 * (3 + 1e-3)"; nothing if the text is not an expression or its value is not finite.
///   choice: sum ('if' condition 'else' choice)?
///   sum: product (('+'|'-') product)*    product: sign (('*'|'/') sign)*
///   sign: ('-'|'+') sign | power         power: percent ('**' sign)?
///   percent: (decimal number | name | function? '(' choice ')') '%'?
///   function: 'floor' | 'multiple_of_8' | 'exp' | 'sqrt' | 'cos'
///   condition: all ('or' all)*           all: comparison ('and' comparison)*
///   comparison: 'not' comparison | sum ('==' | '!=' | '<=' | '>=' | '<' | '>') sum
/// As in Python, except that comparisons are neither parenthesized nor chained. The branch that a choice does not take
/// is not evaluated: "1 / x if x != 0 else 0".
std::optional<double> evaluate(std::string_view text);

/// Values of the names in an expression: {{"epoch", 3}, {"lr", 0.1}}.
using NamedValues = std::span<const std::pair<std::string_view, double>>;

/// Evaluates an expression with names. Nothing if it is invalid, NaN if its value is not finite.
std::optional<double> evaluate(std::string_view text, NamedValues values);

struct Comparison {
  std::string_view sign;
  bool (*holds)(double, double);
};
inline constexpr Comparison kComparisons[] = {
    {"==", [](double a, double b) { return a == b; }}, {"!=", [](double a, double b) { return a != b; }},
    {"<=", [](double a, double b) { return a <= b; }}, {">=", [](double a, double b) { return a >= b; }},
    {"<", [](double a, double b) { return a < b; }},   {">", [](double a, double b) { return a > b; }}};

/// Keras Applications' rounding of channels to a multiple of 8: at least 8, and never down by more than a tenth.
double multiple_of_8(double x);

/// One decimal number with an optional sign: "3", "-1e-3".
bool is_number_literal(std::string_view text);
/// YAML 1.2 core schema: true, false, null in lower, upper and title case; "~" and "" are null.
std::optional<bool> as_boolean(std::string_view text);
bool is_null_word(std::string_view text);
/// Whether the text without quotes would be a number, a boolean or null.
bool needs_quotes_to_be_text(std::string_view text);

}  // namespace dptrain::config
