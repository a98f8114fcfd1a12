#pragma once

// A bound for JSON that others wrote, looked at before a parser sees it: what copies, compares or destroys a tree of
// JSON calls itself once a level, so some ten thousand brackets in a hostile file would overrun the stack. Pure
// functions.

#include <string>
#include <string_view>

#include "core/error.h"

namespace dptrain {

/// Levels of arrays and objects. What Keras and dptrain write has a tenth of it; sixteen models inside of one another,
/// the most that is read, have half.
constexpr int kDeepestJson = 128;

/// Whether brackets and braces outside of strings nest deeper than `most`. The text need not be JSON.
bool json_nests_deeper(std::string_view text, int most = kDeepestJson) noexcept;

/// The text itself, so that a parser may stand around the call. Throws Error{kind}: "<what> is JSON nested deeper than
/// 128 levels, ...", with `what` as in "'best.h5': the state of the trainer".
std::string_view shallow_json(std::string_view text, ErrorKind kind, std::string_view what);

}  // namespace dptrain
