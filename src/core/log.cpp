#include "core/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log_fields.h"
#include "core/terminal.h"
#include "core/text.h"

namespace dptrain::log {
namespace {

struct State {
  std::mutex mutex;
  Options options;
  std::shared_ptr<spdlog::logger> file;
  int stdout_failure = 0;
  bool ignores_sigpipe = false;
  std::string status;  ///< shown on the terminal
  bool status_hidden = false;
  std::string prefix_of_process;
};

State& state() {
  static State instance;
  return instance;
}

constexpr const char* kClearRest = "\033[K";

/// Ignores errors of a closed terminal. Under the lock.
void put_status(const std::string& text) {
  State& s = state();
  if (text.empty() && s.status.empty()) return;
  const std::string line = "\r" + text + kClearRest;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  s.status = text;
}

/// Writes the text in one call if possible, because stdio would divide it at line breaks.
bool write_at_once(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Replaces the status line by `line` and writes it again below, in one write so that it does not flicker.
bool put_above_status(std::FILE* stream, const std::string& line) {
  const std::size_t columns = terminal::columns(fileno(stream)).value_or(0);
  std::string text = "\r";
  for (const std::string& part : split(line, '\n')) {
    // After a line that fills the width the cursor is still on its last character, which must stay.
    text += part + (terminal::width(part) == columns ? "" : kClearRest) + "\n";
  }
  return std::fflush(stream) == 0 && write_at_once(fileno(stream), text + state().status + kClearRest);
}

/// Writes a line to a stream, because spdlog's sinks do not report write errors. Under the lock.
void put(std::FILE* stream, const std::string& line) {
  State& s = state();
  const bool above = !s.status.empty() && isatty(fileno(stream)) == 1;
  if (!above) put_status("");  // the stream may lead to the same terminal through a pipe
  const bool good = above ? put_above_status(stream, line)
                          : std::fwrite(line.data(), 1, line.size(), stream) == line.size() &&
                                std::fputc('\n', stream) != EOF && std::fflush(stream) == 0;
  if (good || stream != stdout || s.stdout_failure != 0) return;
  const bool reader_gone = errno == EPIPE || errno == EIO;
  if (!(reader_gone && s.ignores_sigpipe)) s.stdout_failure = errno;
}

/// One JSON object; escapes control characters and replaces bytes that are not UTF-8.
std::string json_text(const char* level, const std::string& message, const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json line{{"level", level}};
  line.update(fields);
  line["message"] = message;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

enum class Rank { kDebug, kInfo, kAlways };
constexpr std::string_view kWarning = "warning: ", kError = "error: ";

/// The line without its prefix: JSON has the level in a field.
std::string_view without_prefix(std::string_view line) {
  for (const std::string_view prefix : {kWarning, kError})
    if (line.starts_with(prefix)) return line.substr(prefix.size());
  return line;
}

void emit(bool to_stderr, Rank rank, const char* level, const std::string& line,
          const nlohmann::ordered_json& fields = nlohmann::ordered_json::object()) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (rank == Rank::kDebug && !s.options.verbose) return;
  const std::string plain = printable(line, "\n\t");
  if (rank == Rank::kAlways || !(s.options.quiet || !s.prefix_of_process.empty())) {
    const std::string from = s.prefix_of_process.empty() ? "" : fmt::format("[{}] ", s.prefix_of_process);
    std::string text = from + plain;
    const bool json = s.options.format == Format::kJson;
    if (json)
      text = json_text(level, from + std::string(without_prefix(line)), fields);
    else if (to_stderr && s.options.color)
      text = terminal::colored(text);
    std::FILE* const stream = to_stderr || json ? stderr : stdout;
    put(stream, json ? text : terminal::fitted(fileno(stream), text));
  }
  if (s.file) s.file->log(spdlog::level::info, "{}", plain);
}

}  // namespace

void configure(const Options& options) {
  const std::lock_guard lock(state().mutex);
  state().options = options;
}

void set_process_prefix(const std::string& prefix_of_process) {
  const std::lock_guard lock(state().mutex);
  state().prefix_of_process = prefix_of_process;
}

bool is_json() {
  const std::lock_guard lock(state().mutex);
  return state().options.format == Format::kJson;
}

void open_file(const std::string& path) {
  const std::lock_guard lock(state().mutex);
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    auto logger = std::make_shared<spdlog::logger>("dptrain", std::move(sink));
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    state().file = std::move(logger);
  } catch (const spdlog::spdlog_ex& e) {
    throw Error(ErrorKind::kWrite, fmt::format("{}: cannot open the log file: {}", path, e.what()));
  }
}

void close_file() {
  const std::lock_guard lock(state().mutex);
  state().file.reset();
}

void debug(const std::string& line) { emit(false, Rank::kDebug, "debug", line); }
void info(const std::string& line) { emit(false, Rank::kInfo, "info", line); }
void debug(const std::string& line, const nlohmann::ordered_json& fields) {
  emit(false, Rank::kDebug, "debug", line, fields);
}
void info(const std::string& line, const nlohmann::ordered_json& fields) {
  emit(false, Rank::kInfo, "info", line, fields);
}
void notice(const std::string& line) { emit(true, Rank::kAlways, "info", line); }
void warn(const std::string& line) { emit(true, Rank::kAlways, "warning", std::string(kWarning) + line); }
void error(const std::string& line) { emit(true, Rank::kAlways, "error", std::string(kError) + line); }
void composed_error(const std::string& text) { emit(true, Rank::kAlways, "error", text); }

void show_status(const std::string& text) {
  const std::lock_guard lock(state().mutex);
  if (!state().status_hidden && state().prefix_of_process.empty()) put_status(text);
}

void hide_status() {
  const std::lock_guard lock(state().mutex);
  put_status("");
  state().status_hidden = true;
}

void print(const std::string& text) {
  const std::lock_guard lock(state().mutex);
  if (state().prefix_of_process.empty()) put(stdout, printable(text, "\n\t"));
}

void ignore_sigpipe() {
  std::signal(SIGPIPE, SIG_IGN);
  const std::lock_guard lock(state().mutex);
  state().ignores_sigpipe = true;
}

int stdout_failure() {
  const std::lock_guard lock(state().mutex);
  return state().stdout_failure;
}

}  // namespace dptrain::log
