#pragma once

// Results on stdout. Any thread.

#include <unistd.h>

#include <string>

#include "core/log.h"
#include "core/terminal.h"

namespace dptrain::cli {

/// Prints several lines, with or without a final line break.
inline void print_text(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  log::print(text);
}

/// Prints a table or sentences, fitted to the terminal. Not for fixed formats: `name: value`, CSV, JSON, YAML.
inline void print_fitted(const std::string& text) { print_text(terminal::fitted(STDOUT_FILENO, text)); }

}  // namespace dptrain::cli
