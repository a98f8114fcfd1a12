#pragma once

// Manual pages, drawn from the commands' own data, in man(7)'s macros. Pure.

#include <string>

#include "cli/app.h"

namespace dptrain::cli {

/// dptrain(1): all commands, exit codes, files.
std::string man_page(const App& app);
/// dptrain-COMMAND(1).
std::string man_page(const App& app, const Command& command);
/// Text that roff shows as it is.
std::string roff(const std::string& text);

}  // namespace dptrain::cli
