#pragma once

// What a plain scalar says when it is asked for a number, a boolean or null. Pure functions on text.

#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace dptrain::config {

/// The value of "1/255", "0.1%", "2 * (3 + 1e-3)", or nothing if the text is no such expression or not finite.
///   choice: sum ('if' condition 'else' choice)?
///   sum: product (('+'|'-') product)*    product: sign (('*'|'/') sign)*
///   sign: ('-'|'+') sign | power         power: percent ('**' sign)?
///   percent: (decimal number | name | function? '(' choice ')') '%'?
///   function: 'floor' | 'multiple_of_8' | 'exp' | 'sqrt' | 'cos'
///   condition: all ('or' all)*           all: comparison ('and' comparison)*
///   comparison: 'not' comparison | sum ('==' | '!=' | '<=' | '>=' | '<' | '>') sum
/// As in Python, but that a comparison is not in parentheses and not chained. What a choice leaves out is not computed:
/// "1 / x if x != 0 else 0".
std::optional<double> evaluate(std::string_view text);

/// Names in an expression and what they stand for: {{"epoch", 3}, {"lr", 0.1}}.
using NamedValues = std::span<const std::pair<std::string_view, double>>;

/// The same with names in it. Nothing if the text is no expression of these names; NaN where it has no finite value.
std::optional<double> evaluate(std::string_view text, NamedValues values);

/// How Keras Applications round channels: the nearest multiple of 8, at least 8, and one more where that would lose
/// more than a tenth.
double multiple_of_8(double x);

/// One decimal number, with a sign or not: "3", "-1e-3".
bool is_number_literal(std::string_view text);
/// YAML 1.2 core: true, false, null and their capitals; "~" and nothing for null.
std::optional<bool> as_boolean(std::string_view text);
bool is_null_word(std::string_view text);
/// Would mean something else without quotes: a number, a boolean or null.
bool needs_quotes_to_be_text(std::string_view text);

}  // namespace dptrain::config
