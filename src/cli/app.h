#pragma once

// The command line: commands (commands.h) declare their flags as data for parsing, hints, help and completion. main()
// runs one and turns exceptions into messages and exit codes. Main thread only.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace dptrain::cli {

/// How the program was called.
struct Context {
  std::vector<std::string> arguments;  ///< argv
  bool json = false;                   ///< --log json
  bool quiet = false;                  ///< --quiet
};

struct Argument {
  std::vector<std::string> names;  ///< "--quiet", "-q"; none: positional
  std::string deprecated_name;     ///< accepted with a warning, absent from the help
  std::string placeholder;         ///< the value in the help: "N[xT]"; "": a flag without a value
  std::string doc;
  std::vector<std::string> choices;  ///< the only values, for messages and completion
  std::string section;               ///< heading in the help
  std::string implied;               ///< replaces an omitted optional value, which is given as `--resume=x`
  bool required = false;
  bool repeatable = false;
  std::function<void(const std::string&)> parse_value;  ///< throws Error{kUsage}

  bool positional() const { return names.empty(); }
  std::string title() const { return names.empty() ? placeholder : names.front(); }
};

/// A command under construction. Bound variables must live as long as the function given to run(): keep both in one
/// shared object. The calls return *this.
class Command {
 public:
  Command(std::string name, std::string summary) : name_(std::move(name)), summary_(std::move(summary)) {}

  Command& describe(std::string text);  ///< a paragraph below the usage line
  Command& example(std::string line);   ///< after "dptrain <command> "
  Command& section(std::string title);  ///< heading of the flags that follow
  Command& positional(std::string placeholder, std::string& value, std::string doc);  ///< required
  Command& positional(std::string placeholder, std::optional<std::string>& value, std::string doc);
  Command& positionals(std::string placeholder, std::vector<std::string>& values, std::string doc);  ///< one or more

  /// `names` is "--quiet,-q".
  Command& flag(const std::string& names, bool& value, std::string doc);
  Command& option(const std::string& names, std::string placeholder, std::optional<std::string>& value,
                  std::string doc);
  Command& option(const std::string& names, std::string placeholder, std::vector<std::string>& values,
                  std::string doc);  ///< repeatable
  Command& option(const std::string& names, std::string placeholder, std::optional<double>& value, std::string doc);
  Command& integer(const std::string& names, std::string placeholder, std::optional<std::int64_t>& value,
                   std::string doc, std::int64_t at_least = 1);
  /// `value`: a string, optional or not.
  template <class Text>
  Command& choice(const std::string& names, std::vector<std::string> choices, Text& value, std::string doc) {
    Argument& argument = add(names, join(choices, "|"), std::move(doc));
    argument.choices = std::move(choices);
    argument.parse_value = [&value](const std::string& text) { value = text; };
    return *this;
  }
  /// A flag with an optional value, given only as `--resume=VALUE`; `--resume` alone means `--resume=<implied>`.
  Command& optional_value(const std::string& names, std::string placeholder, std::string implied,
                          std::optional<std::string>& value, std::string doc);
  Command& required();  ///< makes the last argument required
  /// A deprecated name of the last argument: accepted with a warning, absent from the help.
  Command& deprecated_name(std::string name);
  /// At most one of these may be given.
  Command& exclusive(std::vector<std::string> names);

  Command& run(std::function<int(const Context&)> body);

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::string& description() const { return description_; }
  const std::vector<std::string>& examples() const { return examples_; }
  const std::deque<Argument>& arguments() const { return arguments_; }
  std::vector<std::string> flag_names() const;

  /// Replaces deprecated names of flags; returns a warning for each.
  std::vector<std::string> replace_deprecated_names(std::vector<std::string>& words) const;
  /// Parses the words after the command's name into the bound variables. Throws Error{kUsage}.
  void parse(const std::vector<std::string>& words) const;
  int execute(const Context& context) const { return body_(context); }

 private:
  Argument& add(const std::string& names, std::string placeholder, std::string doc);

  std::string name_, summary_, description_, section_ = "Flags";
  std::vector<std::string> examples_;
  std::deque<Argument> arguments_;
  std::vector<std::vector<std::string>> exclusive_;
  std::function<int(const Context&)> body_;
};

class App {
 public:
  App() = default;
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  Command& command(std::string name, std::string summary);
  const std::deque<Command>& commands() const { return commands_; }
  /// Throws Error{kUsage} for an unknown command.
  const Command& find(const std::string& name) const;

  /// Runs the program and returns its exit code; throws nothing.
  int run(int argc, const char* const* argv);

 private:
  int dispatch(const std::vector<std::string>& arguments);

  std::deque<Command> commands_;
};

/// Prints an error as --log requires; returns its exit code.
int print_error(const Error& error);
std::string help(const App& app);
std::string help(const Command& command);
/// Text of `dptrain --version`, with the versions of the libraries.
std::string version_text();

}  // namespace dptrain::cli
