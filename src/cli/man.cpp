// dptrain man: the manual pages, on stdout or as files.

#include "cli/man.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/help_parts.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "session/build_info.h"
#include "train/line_file.h"

namespace dptrain::cli {
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

/// Lines as they stand.
std::string example(const std::vector<std::string>& lines) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : lines) text += roff(line) + "\n";
  return text + ".fi\n";
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& one : exit_codes()) text += item(std::to_string(one.code), one.words);
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
  command.positional("COMMAND", flags->command, "whose page (that of dptrain)");
  command.section("Pages").option("--output,-o", "DIR", flags->output, "a folder for all pages");
  command.run([&app, flags](const Context&) { return run(app, *flags); });
}

}  // namespace dptrain::cli
