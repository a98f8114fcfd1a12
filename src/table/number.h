#pragma once

// Numbers from text, and words for text that is none. Pure; any thread.

#include <string>
#include <string_view>

namespace dptrain::table {

enum class NumberFault { kNone, kNoNumber, kOutOfRange };

/// The float nearest to a decimal number as in 12, -0.5, +.5, 5. and 1e-3; nothing else is one. What is too small is
/// zero.
NumberFault read_number(std::string_view text, float& out);
/// The same with the precision of double.
NumberFault read_number(std::string_view text, double& out);

/// "found 'abc', expected a number; ...".
std::string number_words(std::string_view text, NumberFault fault);

}  // namespace dptrain::table
