#pragma once

// Results on stdout. Any thread.

#include <string>

#include "core/log.h"

namespace dptrain::cli {

/// A text of several lines that may or may not end in a line break.
inline void print_text(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  log::print(text);
}

}  // namespace dptrain::cli
