#include "cli/app.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "config/diagnostics.h"
#include "config/source_text.h"
#include "config/synonyms.h"
#include "core/activity.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "sweep/runner.h"
#include "train/line_file.h"
#include "train/progress.h"

namespace dptrain::cli {
namespace {

/// Shows activities (opening data, scanning, preparing replicas) on a terminal, one at a time, from its own thread.
class ActivityBar {
 public:
  explicit ActivityBar(train::ProgressMode mode) : progress_(mode, true) {
    constexpr double kDelaySeconds = 0.5, kPeriodSeconds = 0.15;
    if (progress_.visible())
      watch_.emplace(kDelaySeconds, kPeriodSeconds, [this](const ActivityState* state) { draw(state); });
  }

 private:
  void draw(const ActivityState* state) {
    if (state == nullptr) return progress_.clear();
    progress_.draw({.done = state->done,
                    .total = state->total,
                    .seconds = state->seconds,
                    .percent = state->unit == Activity::Unit::kBytes,
                    .values = " - " + state->what});
  }

  train::Progress progress_;
  std::optional<ActivityWatch> watch_;
};

/// Flags that every command has.
struct OutputFlags {
  std::string log = "text";
  bool quiet = false, verbose = false, no_color = false;
};
OutputFlags& output_flags() {
  static OutputFlags flags;
  return flags;
}

void add_output_flags(Command& command) {
  OutputFlags& flags = output_flags();
  command.section("Output")
      .choice("--log", {"text", "json"}, flags.log, "lines as text, or as JSON objects; config errors too")
      .flag("--quiet,-q", flags.quiet, "no progress lines, results only")
      .flag("--verbose,-v", flags.verbose, "more lines")
      .flag("--no-color", flags.no_color, "no colours (as with NO_COLOR and TERM=dumb)");
}

bool use_color(const OutputFlags& flags) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return !flags.no_color && (no_color == nullptr || *no_color == '\0') && !dumb && isatty(STDERR_FILENO) == 1;
}

int fail(const std::string& text, int code) {
  log::show_status("");  // remove the progress bar
  log::composed_error(text);
  return code;
}

/// The error as JSON lines: one for each place of a config, otherwise one, with a location if it has one.
std::string json_lines(const Error& error) {
  if (const auto* config = dynamic_cast<const config::ConfigError*>(&error)) return config->json();
  nlohmann::ordered_json line{{"level", "error"}};
  if (const SourceLocation& location = error.location(); location.is_known()) {
    line["file"] = location.file;
    line["line"] = location.line;
    line["column"] = location.column;
  }
  line["message"] = error.message();
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// Writes the error to the file that `dptrain sweep` reads. Without the file the sweep uses the last error of the log.
void store_for_sweep(const Error& error) {
  const char* file = std::getenv(sweep::kErrorFile);
  if (file == nullptr || *file == '\0') return;
  try {
    train::write_text(file, json_lines(error));
  } catch (const std::exception&) {  // the disk is full, for example; the error is printed all the same
  }
}

}  // namespace

int print_error(const Error& error) {
  store_for_sweep(error);
  const bool json = output_flags().log == "json";
  const bool is_config = dynamic_cast<const config::ConfigError*>(&error) != nullptr;
  if (json && (is_config || error.location().is_known())) {
    std::fputs(json_lines(error).c_str(), stderr);
    return error.exit_code();
  }
  std::string text = (json || error.is_complete() ? "" : "error: ") + std::string(error.what());
  const std::string excerpt = is_config ? "" : config::excerpt_of(error.location());
  if (!excerpt.empty()) text += "\n" + excerpt.substr(0, excerpt.size() - 1);
  return fail(text, error.exit_code());
}

Command& App::command(std::string name, std::string summary) {
  return commands_.emplace_back(std::move(name), std::move(summary));
}

int App::run(int argc, const char* const* argv) {
  try {
    const int code = dispatch({argv, argv + argc});
    if (const int failure = log::stdout_failure(); failure != 0 && code == 0)
      throw Error(ErrorKind::kWrite, fmt::format("cannot write to stdout: {}", std::strerror(failure)));
    return code;
  } catch (const Error& error) {
    return print_error(error);
  } catch (const std::bad_alloc&) {
    return print_error({ErrorKind::kMemory, "out of memory; try a smaller --batch-size, or --accumulate"});
  } catch (const std::exception& error) {
    if (const auto* system = dynamic_cast<const std::system_error*>(&error);
        system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
      return print_error(
          {ErrorKind::kDevice, fmt::format("cannot start a thread: {}; raise the limit on processes (ulimit -u, or "
                                           "that of the container), or use fewer with --cpus and data.loader.workers",
                                           system->code().message())});
    const std::string text =
        fmt::format("internal error: {}; please report it with the command line and the config", error.what());
    store_for_sweep({ErrorKind::kInternal, text});
    return fail(text, static_cast<int>(ErrorKind::kInternal));
  }
}

int App::dispatch(const std::vector<std::string>& arguments) {
  std::vector<std::string> words(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (words.empty()) return fail(help(*this), static_cast<int>(ErrorKind::kUsage));
  if (words.front() == "--version") return log::print(version_text()), 0;
  const auto asks_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  if (words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (asks_help(words.front())) return log::print(help(*this)), 0;

  for (Command& command : commands_) add_output_flags(command);
  const Command& command = find(words.front());
  const OutputFlags& output = output_flags();
  words.erase(words.begin());
  if (std::any_of(words.begin(), words.end(), asks_help)) return log::print(help(command)), 0;
  const std::vector<std::string> warnings = command.replace_deprecated_names(words);
  command.parse(words);

  log::configure({.format = output.log == "json" ? log::Format::kJson : log::Format::kText,
                  .quiet = output.quiet,
                  .verbose = output.verbose,
                  .color = use_color(output)});
  for (const std::string& warning : warnings) log::warn(warning);
  const ActivityBar bar(output.quiet || output.log == "json" ? train::ProgressMode::kOff : train::ProgressMode::kAuto);
  return command.execute({.arguments = arguments, .json = output.log == "json", .quiet = output.quiet});
}

const Command& App::find(const std::string& name) const {
  std::vector<std::string> names;
  for (const Command& command : commands_) {
    if (command.name() == name) return command;
    names.push_back(command.name());
  }
  if (name.starts_with('-'))
    throw Error(ErrorKind::kUsage, fmt::format("expected a command first, found '{}'; see dptrain --help", name));
  const std::string hint = config::hint_for(name, "command", names);
  throw Error(ErrorKind::kUsage,
              fmt::format("unknown command '{}'{}{}", name, hint, hint.empty() ? "; see dptrain --help" : ""));
}

}  // namespace dptrain::cli
