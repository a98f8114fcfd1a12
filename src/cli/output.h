#pragma once

// Results on stdout. Any thread.

#include <unistd.h>

#include <string>

#include "core/log.h"
#include "core/terminal.h"

namespace dptrain::cli {

/// A text of several lines that may or may not end in a line break.
inline void print_text(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  log::print(text);
}

/// A table or sentences, whose lines fit the terminal. Not for output of a fixed form: `name: value`, CSV, JSON, YAML.
inline void print_fitted(const std::string& text) { print_text(terminal::fitted(STDOUT_FILENO, text)); }

}  // namespace dptrain::cli
