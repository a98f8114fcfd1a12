// Help texts, drawn from the commands' own data.

#include <algorithm>

#include "cli/help_parts.h"
#include "core/format.h"
#include "core/text.h"
#include "session/build_info.h"

namespace dptrain::cli {
namespace {

constexpr std::size_t kColumns = 110;  // columns of a help text
constexpr std::size_t kIndent = 32;    // where explanations begin

/// Text broken at blanks into lines of `width` columns.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string entry(const std::string& title, const std::string& doc) {
  std::string text = fmt::format("  {:<{}}", title, kIndent - 2);
  if (title.size() + 3 > kIndent) text = fmt::format("  {}\n{:<{}}", title, "", kIndent);
  const std::vector<std::string> lines = wrapped(doc, kColumns - kIndent);
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i == 0 ? "" : fmt::format("\n{:<{}}", "", kIndent)) + lines[i];
  return text + "\n";
}

std::string flags_text(const Command& command) {
  std::string text;
  for (const std::string& section : sections_of(command)) {
    text += section.empty() ? "\n" : "\n" + section + "\n";
    for (const Argument& argument : command.arguments())
      if (argument.section == section) text += entry(heading_of(argument), doc_of(argument));
  }
  return text;
}

/// "0 ok, 1 internal error, ..." in lines that break between codes.
std::string exit_codes_text() {
  std::vector<std::string> lines{"Exit codes:"};
  for (const ExitCode& one : exit_codes()) {
    const std::string text =
        fmt::format("{} {}{}", one.code, one.words, one.code == exit_codes().back().code ? "." : ",");
    if (lines.back().size() + 1 + text.size() > kColumns)
      lines.push_back(text);
    else
      lines.back() += " " + text;
  }
  return join(lines, "\n");
}

}  // namespace

std::string heading_of(const Argument& argument) {
  std::string names;
  for (auto name = argument.names.rbegin(); name != argument.names.rend(); ++name)
    names += (names.empty() ? "" : ", ") + *name;
  if (argument.placeholder.empty()) return names;
  if (argument.positional()) return argument.placeholder;
  if (!argument.implied.empty()) return fmt::format("{}[={}]", names, argument.placeholder);
  return fmt::format("{} {}", names, argument.placeholder);
}

std::string doc_of(const Argument& argument) {
  return argument.doc + (argument.repeatable && !argument.positional() ? " (repeatable)" : "");
}

std::string usage_of(const Command& command) {
  std::string line = "dptrain " + command.name();
  for (const Argument& argument : command.arguments()) {
    if (!argument.positional()) continue;
    const std::string dots = argument.repeatable ? "..." : "";
    line += argument.required ? fmt::format(" {}{}", argument.placeholder, dots)
                              : fmt::format(" [{}{}]", argument.placeholder, dots);
  }
  return line + " [flags]";
}

std::vector<std::string> sections_of(const Command& command) {
  std::vector<std::string> sections;
  for (const Argument& argument : command.arguments())
    if (std::ranges::find(sections, argument.section) == sections.end()) sections.push_back(argument.section);
  return sections;
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> codes{{0, "ok"},
                                           {1, "internal error"},
                                           {2, "usage or config"},
                                           {3, "data"},
                                           {4, "device"},
                                           {5, "out of memory"},
                                           {6, "diverged"},
                                           {7, "a check failed"},
                                           {8, "checkpoint"},
                                           {9, "watchdog"},
                                           {10, "cannot write"},
                                           {11, "stopped at once by a second signal"},
                                           {130, "stopped by SIGINT"},
                                           {143, "stopped by SIGTERM"}};
  return codes;
}

const std::vector<std::pair<std::string, std::string>>& first_examples() {
  static const std::vector<std::pair<std::string, std::string>> examples{
      {"dptrain init", "the bundled configs"},
      {"dptrain init    --from photos/", "a config for your data"},
      {"dptrain check   configs/fashion_mnist.yaml", "every mistake at once, trains nothing"},
      {"dptrain fit     configs/fashion_mnist.yaml --cpus 2", ""},
      {"dptrain fit     configs/fashion_mnist.yaml --cpus 2 --resume", ""},
      {"dptrain fit     configs/fashion_mnist.yaml --gpus 0,1", ""},
      {"dptrain eval    runs/fashion-mnist/001", ""},
      {"dptrain plot    runs/fashion-mnist/001 runs/fashion-mnist/002", ""}};
  return examples;
}

std::string help(const App& app) {
  std::string text = fmt::format("dptrain {}.\n\nUsage: dptrain COMMAND [arguments]\n\n", kPurpose);
  for (const Command& command : app.commands()) text += fmt::format("  {:<12}{}\n", command.name(), command.summary());
  text +=
      "\n  --version   version and libraries\n  --help      this text; `dptrain COMMAND --help` for a command's own\n"
      "\nExamples\n";
  for (const auto& [line, comment] : first_examples())
    text += comment.empty() ? fmt::format("  {}\n", line) : fmt::format("  {:<48}# {}\n", line, comment);
  return text + "\n" + exit_codes_text();
}

std::string help(const Command& command) {
  std::string text = fmt::format("Usage: {}\n", usage_of(command));
  for (const std::string& line :
       wrapped(command.description().empty() ? command.summary() : command.description(), kColumns))
    text += "\n" + line;
  text += "\n" + flags_text(command);
  if (!command.examples().empty()) text += "\nExamples\n";
  for (const std::string& example : command.examples())
    text += fmt::format("  dptrain {} {}\n", command.name(), example);
  text.pop_back();
  return text;
}

std::string version_text() {
  const session::BuildInfo build = session::build_info();
  std::string text = fmt::format("dptrain {} ({}, {})", build.version, build.commit, build.build_type);
  for (const auto& [library, version] : build.libraries) text += fmt::format("\n{:<10}{}", library, version);
  return text;
}

}  // namespace dptrain::cli
