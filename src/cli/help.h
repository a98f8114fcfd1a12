#pragma once

// Help texts and manual pages, generated from the commands. Pure.

#include <string>
#include <utility>
#include <vector>

#include "cli/app.h"

namespace dptrain::cli {

/// "-q, --quiet", "--resume[=last|best]", "CONFIG".
std::string heading_of(const Argument& argument);
/// The description, with "(repeatable)" if the flag is.
std::string doc_of(const Argument& argument);
/// "dptrain eval CONFIG|CKPT [flags]".
std::string usage_of(const Command& command);
/// Section headings of the arguments, in order; "" for positional ones.
std::vector<std::string> sections_of(const Command& command);

struct ExitCode {
  int code;
  const char* meaning;
};
/// Explained in docs/reference/command-line.md.
const std::vector<ExitCode>& exit_codes();
/// Examples for `dptrain --help` and dptrain(1), each with a comment or "".
const std::vector<std::pair<std::string, std::string>>& first_examples();

inline constexpr const char* kPurpose =
    "trains neural networks from one YAML file, on CPUs or GPUs, with the same numbers on any number of replicas";

/// dptrain(1): all commands, exit codes, files.
std::string man_page(const App& app);
/// dptrain-COMMAND(1).
std::string man_page(const App& app, const Command& command);
/// Escapes text for roff.
std::string roff(const std::string& text);

}  // namespace dptrain::cli
