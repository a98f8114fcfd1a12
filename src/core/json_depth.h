#pragma once

// Depth limit for untrusted JSON, checked before parsing. Copying, comparing and destroying a JSON tree is recursive,
// so ten thousand nested brackets would overflow the stack. Pure functions.

#include <string>
#include <string_view>

#include "core/error.h"

namespace dptrain {

/// Levels of arrays and objects. Files of Keras and dptrain need a tenth, sixteen nested models (the most supported)
/// half.
constexpr int kDeepestJson = 128;

/// Whether brackets and braces outside of strings nest deeper than `most`. The text need not be JSON.
bool json_nests_deeper(std::string_view text, int most = kDeepestJson) noexcept;

/// Returns the text, for use in the call of a parser. Throws Error{kind}: "<what> is JSON nested deeper than 128
/// levels, ...", with `what` as in "'best.h5': the state of the trainer".
std::string_view shallow_json(std::string_view text, ErrorKind kind, std::string_view what);

}  // namespace dptrain
