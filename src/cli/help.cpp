// Help texts, drawn from the commands' own data.

#include <algorithm>

#include "cli/app.h"
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

std::string title_of(const Argument& argument) {
  std::string names;
  for (auto name = argument.names.rbegin(); name != argument.names.rend(); ++name)
    names += (names.empty() ? "" : ", ") + *name;
  if (argument.placeholder.empty()) return names;
  if (argument.positional()) return argument.placeholder;
  if (!argument.implied.empty()) return fmt::format("{}[={}]", names, argument.placeholder);
  return fmt::format("{} {}", names, argument.placeholder);
}

std::string usage(const Command& command) {
  std::string line = "Usage: dptrain " + command.name();
  for (const Argument& argument : command.arguments()) {
    if (!argument.positional()) continue;
    const std::string dots = argument.repeatable ? "..." : "";
    line += argument.required ? fmt::format(" {}{}", argument.placeholder, dots)
                              : fmt::format(" [{}{}]", argument.placeholder, dots);
  }
  return line + " [flags]\n";
}

std::string flags_text(const Command& command) {
  std::vector<std::string> sections;
  for (const Argument& argument : command.arguments())
    if (std::find(sections.begin(), sections.end(), argument.section) == sections.end())
      sections.push_back(argument.section);
  std::string text;
  for (const std::string& section : sections) {
    text += section.empty() ? "\n" : "\n" + section + "\n";
    for (const Argument& argument : command.arguments())
      if (argument.section == section)
        text += entry(title_of(argument),
                      argument.doc + (argument.repeatable && !argument.positional() ? " (repeatable)" : ""));
  }
  return text;
}

}  // namespace

std::string help(const App& app) {
  std::string text =
      "dptrain trains neural networks from one YAML file, on CPUs or GPUs, with the same numbers on any number of "
      "replicas.\n\n"
      "Usage: dptrain COMMAND [arguments]\n\n";
  for (const Command& command : app.commands()) text += fmt::format("  {:<12}{}\n", command.name(), command.summary());
  return text +
         "\n  --version   version and libraries\n  --help      this text; `dptrain COMMAND --help` for a command's "
         "own\n"
         "\nExamples\n"
         "  dptrain init                                    # the bundled configs\n"
         "  dptrain check   configs/fashion_mnist.yaml      # every mistake at once, trains nothing\n"
         "  dptrain fit     configs/fashion_mnist.yaml --cpus 2\n"
         "  dptrain fit     configs/fashion_mnist.yaml --cpus 2 --resume\n"
         "  dptrain fit     configs/fashion_mnist.yaml --gpus 0,1\n"
         "  dptrain eval    runs/fashion-mnist/001/checkpoints/best.h5\n"
         "  dptrain plot    runs/fashion-mnist/001 runs/fashion-mnist/002\n"
         "\nExit codes: 0 ok, 1 internal, 2 usage or config, 3 data, 4 device, 5 memory, 6 diverged, 7 check failed,\n"
         "8 checkpoint, 9 watchdog, 10 cannot write, 130 and 143 after SIGINT and SIGTERM.";
}

std::string help(const Command& command) {
  std::string text = usage(command);
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
