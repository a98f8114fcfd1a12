// Help texts and manual pages, generated from the commands.

#include "cli/help.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <unistd.h>

#include "cli/commands.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/terminal.h"
#include "core/text.h"
#include "session/environment.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace {

constexpr std::size_t kIndent = 32;         // column of the explanations
constexpr std::size_t kNarrowColumns = 72;  // narrower terminals show explanations below the flag
constexpr std::size_t kNarrowIndent = 6;

/// Width of the terminal, or 80 for a pipe; at most 110, since longer lines are hard to read.
std::size_t help_columns() {
  constexpr std::size_t kMax = 110;
  return std::min(kMax, terminal::columns(STDOUT_FILENO).value_or(terminal::kUsualColumns));
}

std::string entry(const std::string& title, const std::string& doc, std::size_t columns) {
  if (columns < kNarrowColumns)
    return terminal::wrapped("  ", title, kNarrowIndent, columns) + "\n" +
           terminal::wrapped(std::string(kNarrowIndent, ' '), doc, kNarrowIndent, columns) + "\n";
  std::string begin = fmt::format("  {:<{}}", title, kIndent - 2);
  if (title.size() + 3 > kIndent)
    begin = terminal::wrapped("  ", title, kNarrowIndent, columns) + fmt::format("\n{:<{}}", "", kIndent);
  const std::size_t line = begin.rfind('\n') + 1;  // 0: a single line
  return begin.substr(0, line) + terminal::wrapped(begin.substr(line), doc, kIndent, columns) + "\n";
}

std::string flags_text(const Command& command, std::size_t columns) {
  std::string text;
  for (const std::string& section : sections_of(command)) {
    text += section.empty() ? "\n" : "\n" + section + "\n";
    for (const Argument& argument : command.arguments())
      if (argument.section == section) text += entry(heading_of(argument), doc_of(argument), columns);
  }
  return text;
}

/// "0 ok, 1 internal error, ..." in lines that break between codes.
std::string exit_codes_text(std::size_t columns) {
  std::vector<std::string> lines{"Exit codes:"};
  for (const ExitCode& one : exit_codes()) {
    const std::string text =
        fmt::format("{} {}{}", one.code, one.meaning, one.code == exit_codes().back().code ? "." : ",");
    if (lines.back().size() + 1 + text.size() > columns)
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
      {"dptrain check   configs/fashion_mnist.yaml", "every mistake at once"},
      {"dptrain fit     configs/fashion_mnist.yaml --cpus 2", ""},
      {"dptrain fit     configs/fashion_mnist.yaml --cpus 2 --resume", ""},
      {"dptrain fit     configs/fashion_mnist.yaml --gpus 0,1", ""},
      {"dptrain eval    runs/fashion-mnist/001", ""},
      {"dptrain plot    runs/fashion-mnist/001 runs/fashion-mnist/002", ""}};
  return examples;
}

std::string help(const App& app) {
  const std::size_t columns = help_columns();
  std::string text = terminal::wrapped("", fmt::format("dptrain {}.", kPurpose), 0, columns) +
                     "\n\nUsage: dptrain COMMAND [arguments]\n\n";
  for (const Command& command : app.commands())
    text += terminal::wrapped(fmt::format("  {:<12}", command.name()), command.summary(), 14, columns) + "\n";
  text += "\n" + terminal::wrapped("  --version   ", "version and libraries", 14, columns) + "\n" +
          terminal::wrapped("  --help      ", "this text; `dptrain COMMAND --help` for a command's own", 14, columns) +
          "\n\nExamples\n";
  for (const auto& [line, comment] : first_examples()) {
    const std::string example = comment.empty() ? "  " + line : fmt::format("  {:<44}  # {}", line, comment);
    text += (terminal::width(example) <= columns ? example : terminal::wrapped("  " + line, columns)) + "\n";
  }
  return text + "\n" + exit_codes_text(columns);
}

std::string help(const Command& command) {
  const std::size_t columns = help_columns();
  std::string text =
      terminal::wrapped("Usage: ", usage_of(command), 7, columns) + "\n\n" +
      terminal::wrapped("", command.description().empty() ? command.summary() : command.description(), 0, columns) +
      "\n" + flags_text(command, columns);
  if (!command.examples().empty()) text += "\nExamples\n";
  for (const std::string& example : command.examples())
    text += terminal::wrapped(fmt::format("  dptrain {} {}", command.name(), example), columns) + "\n";
  text.pop_back();
  return text;
}

std::string version_text() {
  const session::BuildInfo build = session::build_info();
  std::string text = fmt::format("dptrain {} ({}, {})", build.version, build.commit, build.build_type);
  for (const auto& [library, version] : build.libraries) text += fmt::format("\n{:<10}{}", library, version);
  return text;
}

namespace {

std::string page_name(const Command& command) { return "dptrain-" + command.name(); }

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string head(const std::string& name, const std::string& purpose, const std::string& usage) {
  return fmt::format(
      ".TH {} 1 \"\" \"dptrain {}\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.B {}\n",
      roff(upper(name)), session::build_info().version, roff(name), roff(purpose), roff(usage));
}

std::string item(const std::string& heading, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(heading), roff(text));
}

/// Lines without filling.
std::string example(const std::vector<std::string>& lines) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : lines) text += roff(line) + "\n";
  return text + ".fi\n";
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& one : exit_codes()) text += item(std::to_string(one.code), one.meaning);
  return text;
}

std::string see_also(const App& app, const std::string& but) {
  std::vector<std::string> pages;
  if (!but.empty()) pages.emplace_back("dptrain");
  for (const Command& command : app.commands())
    if (page_name(command) != but) pages.push_back(page_name(command));
  std::string text = ".SH SEE ALSO\n";
  for (const std::string& page : pages)
    text += fmt::format(".BR {} (1){}\n", roff(page), page == pages.back() ? "" : ",");
  return text;
}

struct ManFlags {
  std::optional<std::string> command, output;
};

int run(const App& app, const ManFlags& flags) {
  if (flags.command && flags.output)
    throw Error(ErrorKind::kUsage, "man: --output writes all pages; leave the command out");
  if (flags.output) {
    std::error_code failed;
    const std::filesystem::path folder = *flags.output;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw Error(ErrorKind::kWrite, fmt::format("{}: {}", folder.string(), failed.message()));
    train::write_text((folder / "dptrain.1").string(), man_page(app));
    for (const Command& command : app.commands())
      train::write_text((folder / (page_name(command) + ".1")).string(), man_page(app, command));
    log::info(fmt::format("wrote {} pages into {}", app.commands().size() + 1, folder.string()));
    return 0;
  }
  log::print(trim(flags.command ? man_page(app, app.find(*flags.command)) : man_page(app)));
  return 0;
}

}  // namespace

std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string man_page(const App& app) {
  std::string text = head("dptrain", "trains neural networks from one YAML file", "dptrain COMMAND [arguments]");
  text += fmt::format(".SH DESCRIPTION\ndptrain {}.\n.SH COMMANDS\n", roff(kPurpose));
  for (const Command& command : app.commands()) text += item(page_name(command) + "(1)", command.summary());
  text += ".SH OPTIONS\n" + item("--version", "version and libraries") +
          item("--help", "all commands; dptrain COMMAND --help for a command's own flags");
  std::vector<std::string> lines;
  for (const auto& [line, comment] : first_examples()) lines.push_back(line);
  return text + example(lines) + exit_status() + see_also(app, "");
}

std::string man_page(const App& app, const Command& command) {
  std::string text = head(page_name(command), command.summary(), usage_of(command));
  text += ".SH DESCRIPTION\n" + roff(command.description().empty() ? command.summary() + "." : command.description()) +
          "\n.SH OPTIONS\n";
  for (const std::string& section : sections_of(command)) {
    if (!section.empty()) text += fmt::format(".SS {}\n", roff(section));
    for (const Argument& argument : command.arguments())
      if (argument.section == section) text += item(heading_of(argument), doc_of(argument));
  }
  std::vector<std::string> lines;
  for (const std::string& line : command.examples())
    lines.push_back(fmt::format("dptrain {} {}", command.name(), line));
  if (!lines.empty()) text += example(lines);
  return text + exit_status() + see_also(app, page_name(command));
}

void add_man(App& app) {
  const auto flags = std::make_shared<ManFlags>();
  Command& command = app.command("man", "the manual pages");
  command.describe(
      "Prints the manual page of dptrain or of one command, for `man -l -`. With --output writes all of them as files; "
      "`cmake --install` does so.");
  command.example("fit | man -l -").example("--output ~/.local/share/man/man1");
  command.positional("COMMAND", flags->command, "command of the page (dptrain itself)");
  command.section("Pages").option("--output,-o", "DIR", flags->output, "a folder for all pages");
  command.run([&app, flags](const Context&) { return run(app, *flags); });
}

}  // namespace dptrain::cli
