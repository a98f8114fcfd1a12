#pragma once

// Help texts and manual pages, both from the commands' own data. Pure.

#include <string>
#include <utility>
#include <vector>

#include "cli/app.h"

namespace dptrain::cli {

/// "-q, --quiet", "--resume[=last|best]", "CONFIG".
std::string heading_of(const Argument& argument);
/// With "(repeatable)" where a flag is.
std::string doc_of(const Argument& argument);
/// "dptrain eval CONFIG|CKPT [flags]".
std::string usage_of(const Command& command);
/// Headings of the arguments' sections in their order; "" is that of the positional ones.
std::vector<std::string> sections_of(const Command& command);

struct ExitCode {
  int code;
  const char* words;
};
/// docs/exit-codes.md says more of each.
const std::vector<ExitCode>& exit_codes();
/// What `dptrain --help` and dptrain(1) show, each with a comment or "".
const std::vector<std::pair<std::string, std::string>>& first_examples();

inline constexpr const char* kPurpose =
    "trains neural networks from one YAML file, on CPUs or GPUs, with the same numbers on any number of replicas";

/// dptrain(1): all commands, exit codes, files.
std::string man_page(const App& app);
/// dptrain-COMMAND(1).
std::string man_page(const App& app, const Command& command);
/// Text that roff shows as it is.
std::string roff(const std::string& text);

}  // namespace dptrain::cli
