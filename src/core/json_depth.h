#pragma once

// Depth limit for untrusted JSON, checked before parsing. Copying, comparing and destroying a JSON tree is recursive,
// so ten thousand nested brackets would overflow the stack. Pure functions.

#include <string_view>

#include "core/error.h"

namespace dptrain {

/// Levels of arrays and objects. Files of Keras and dptrain need a tenth, sixteen nested models (the most supported)
/// half.
constexpr int kMaxJsonDepth = 128;

/// Whether brackets and braces outside of strings nest deeper than `max_depth`. The text need not be JSON.
bool exceeds_json_depth(std::string_view text, int max_depth = kMaxJsonDepth) noexcept;

/// Returns the text, for use in the call of a parser. Throws Error{kind}: "<what> is JSON nested deeper than 128
/// levels, ...", with `what` as in "'best.h5': the state of the trainer".
std::string_view check_json_depth(std::string_view text, ErrorKind kind, std::string_view what);

}  // namespace dptrain
