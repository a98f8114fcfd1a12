#pragma once

// What a plain scalar says when it is asked for a number, a boolean or null. Pure functions on text.

#include <optional>
#include <string_view>

namespace dptrain::config {

/// The value of "1/255", "0.1%", "2 * (3 + 1e-3)", or nothing if the text is no such expression or not finite.
///   sum: product (('+'|'-') product)*    product: sign (('*'|'/') sign)*
///   sign: ('-'|'+') sign | percent       percent: (decimal number | function? '(' sum ')') '%'?
///   function: 'floor' | 'multiple_of_8'
std::optional<double> evaluate(std::string_view text);

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
