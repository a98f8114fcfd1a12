// dptrain completion: shell scripts, generated from the commands.

#include <memory>

#include "cli/commands.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

std::vector<std::string> command_names(const App& app) {
  std::vector<std::string> names;
  for (const Command& command : app.commands()) names.push_back(command.name());
  return names;
}

std::string bash_script(const App& app) {
  std::string flags, values;
  for (const Command& command : app.commands()) {
    flags += fmt::format("    {}) words=\"{}\" ;;\n", command.name(), join(command.flag_names(), " "));
    for (const Argument& argument : command.arguments())
      for (const std::string& name : argument.names)
        if (!argument.choices.empty())
          values += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", command.name(), name, join(argument.choices, " "));
  }
  return fmt::format(R"(_dptrain() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  case "$command $previous" in
{}  esac
  if [ -z "$words" ]; then case "$current" in -*) case "$command" in
{}  esac ;; esac; fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _dptrain dptrain)",
                     join(command_names(app), " "), values, flags);
}

/// Works in .zshrc, where it registers itself, and as _dptrain on zsh's fpath, where also the first call completes.
std::string zsh_script(const App& app) {
  return "#compdef dptrain\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(app) +
         "\nif [[ ${funcstack[1]-} == _dptrain ]]; then _bash_complete -o filenames -F _dptrain; fi";
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "'";
}

std::string fish_flag(const Command& command, const Argument& argument) {
  std::string line = fmt::format("complete -c dptrain -n '__fish_seen_subcommand_from {}'", command.name());
  for (const std::string& name : argument.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!argument.choices.empty())
    line += fmt::format(" -x -a '{}'", join(argument.choices, " "));
  else if (!argument.placeholder.empty() && argument.implied.empty())
    line += " -r";
  return line + " -d " + fish_quoted(argument.doc) + "\n";
}

std::string fish_script(const App& app) {
  std::string text;
  for (const Command& command : app.commands())
    text += fmt::format("complete -c dptrain -n __fish_use_subcommand -a {} -d {}\n", command.name(),
                        fish_quoted(command.summary()));
  for (const Command& command : app.commands())
    for (const Argument& argument : command.arguments())
      if (!argument.positional()) text += fish_flag(command, argument);
  text.pop_back();
  return text;
}

int run(const App& app, const std::string& shell) {
  const std::vector<std::string> shells{"bash", "zsh", "fish"};
  if (shell == "bash")
    log::print(bash_script(app));
  else if (shell == "zsh")
    log::print(zsh_script(app));
  else if (shell == "fish")
    log::print(fish_script(app));
  else
    throw Error(ErrorKind::kUsage, fmt::format("completion: expected bash, zsh or fish, found '{}'{}", shell,
                                               did_you_mean(shell, shells)));
  return 0;
}

}  // namespace

void add_completion(App& app) {
  const auto shell = std::make_shared<std::string>();
  Command& command = app.command("completion", "a script that completes commands and flags in the shell");
  command.example("bash > ~/.local/share/bash-completion/completions/dptrain")
      .example("zsh >> ~/.zshrc")
      .example("fish > ~/.config/fish/completions/dptrain.fish");
  command.positional("bash|zsh|fish", *shell, "the shell");
  command.run([&app, shell](const Context&) { return run(app, *shell); });
}

}  // namespace dptrain::cli
