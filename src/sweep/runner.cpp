#include "sweep/runner.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/log.h"
#include "core/text.h"
#include "experiment/run_files.h"
#include "sweep/schedule.h"
#include "train/curves.h"
#include "train/line_file.h"
#include "train/signals.h"

namespace dptrain::sweep {
namespace fs = std::filesystem;
namespace {

class Loop {
 public:
  Loop(Sweep& sweep, Runner& runner, Watcher& watcher)
      : sweep_(sweep), runner_(runner), watcher_(watcher), schedule_(sweep), busy_(at(runner.slots())) {}

  void run() {
    watcher_.save(sweep_);
    for (;;) {
      if (!stopping_ && watcher_.should_stop()) {
        stopping_ = true;
        runner_.stop();
      }
      if (!stopping_) fill();
      if (std::ranges::none_of(busy_, [](const auto& trial) { return trial.has_value(); })) return;
      for (const ProcessResult& ended : runner_.poll()) take(ended);
      watcher_.tick(sweep_);
    }
  }

 private:
  void fill() {
    for (std::size_t slot = 0; slot < busy_.size(); ++slot) {
      if (busy_[slot]) continue;
      busy_[slot] = schedule_.next();
      if (!busy_[slot]) return;
      const Trial& trial = sweep_.trials[*busy_[slot]];
      watcher_.save(sweep_);
      runner_.start(static_cast<int>(slot), trial, schedule_.epochs_of(trial));
    }
  }

  void take(const ProcessResult& ended) {
    const std::size_t trial = *busy_[at(ended.slot)];
    busy_[at(ended.slot)].reset();
    using enum ProcessResult::ExitKind;
    if (ended.kind == kStopped)
      schedule_.stopped(trial);
    else
      schedule_.end(trial, ended.kind == kDone ? Status::kDone : Status::kFailed, ended.outcome);
    watcher_.save(sweep_);
    if (ended.kind != kStopped) watcher_.ended(sweep_, sweep_.trials[trial]);
  }

  Sweep& sweep_;
  Runner& runner_;
  Watcher& watcher_;
  Schedule schedule_;
  std::vector<std::optional<std::size_t>> busy_;  ///< by slot
  bool stopping_ = false;
};

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr int kNotStarted = 127;

/// Shortens an error for the table of trials.
std::string reason(const std::string& error) {
  constexpr std::size_t kMax = 300;
  return printable(error.size() > kMax ? error.substr(0, kMax) + "..." : error);
}

/// The last error line of a log from byte `begin`, for processes that end without an exception: by the watchdog, for
/// example.
std::string last_error(const std::string& log, std::int64_t begin) {
  std::ifstream in(log, std::ios::binary);
  in.seekg(begin);
  std::string found;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("error: ")) found = line.substr(7);
  return reason(found);
}

std::string reason_of(int status, const std::string& message, const std::string& log) {
  const std::string suffix = message.empty() ? "" : ": " + message;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("killed by signal {} ({}){}", signal, strsignal(signal),
                       signal == SIGKILL ? "; unless it was killed by hand, the system ran out of memory" : suffix);
  }
  const int code = WEXITSTATUS(status);
  if (code == static_cast<int>(ErrorKind::kDiverged)) return message.empty() ? "diverged" : message;
  if (code == static_cast<int>(ErrorKind::kMemory)) return "out of memory" + suffix;
  return message.empty() ? fmt::format("exit {}, see {}", code, log) : fmt::format("exit {}: {}", code, message);
}

/// Runs in the child between fork and exec: system calls only.
[[noreturn]] void exec_trial(const std::vector<char*>& arguments, const std::vector<char*>& environment,
                             const char* directory, int log, pid_t parent) {
  setpgid(0, 0);  // the terminal's Ctrl-C signals only the sweep, which forwards it
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNotStarted);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
      chdir(directory) != 0)
    _exit(kNotStarted);
  execve(arguments.front(), arguments.data(), environment.data());
  _exit(kNotStarted);
}

/// This process's environment with the variable set; `set` is "NAME=value". Both must outlive the result.
std::vector<char*> environment_with(std::string& set) {
  const std::string name = set.substr(0, set.find('=') + 1);
  std::vector<char*> all{set.data()};
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with(name)) all.push_back(*variable);
  all.push_back(nullptr);
  return all;
}

/// waitpid() that retries after EINTR.
int status_of(pid_t process, int options, int& status) {
  int got = 0;
  do got = waitpid(process, &status, options);
  while (got < 0 && errno == EINTR);
  return got;
}

/// Whether the run is trained to `epochs` or ended early.
bool has_ended(const Outcome& outcome, const std::optional<std::int64_t>& epochs) {
  return outcome.ended_early() || (outcome.exit == "completed" && (!epochs || outcome.epochs >= *epochs));
}

/// Ignores a file that fit did not write.
void read_result(const std::string& file, Outcome& outcome) try {
  const nlohmann::json json = nlohmann::json::parse(train::read_text(file), nullptr, false);
  if (!json.is_object()) return;
  outcome.exit = json.value("exit", "");
  outcome.reason = json.value("reason", "");
  outcome.epochs = json.value("epochs", outcome.epochs);
} catch (const nlohmann::json::exception& error) {
  log::warn(fmt::format("{} is skipped: {}", file, error.what()));
}

}  // namespace

void run(Sweep& sweep, Runner& runner, Watcher& watcher) { Loop(sweep, runner, watcher).run(); }

Outcome outcome_of(const Plan& plan, const std::string& run) {
  Outcome outcome;
  try {
    const train::RunCurves curves = train::read_run(run, run);
    for (const plot::Point& point : curves.column(plan.objective)) {
      if (!std::isfinite(point.y) || (outcome.objective && !better(plan, point.y, *outcome.objective))) continue;
      outcome.objective = point.y;
      outcome.best_epoch = static_cast<std::int64_t>(point.x);
    }
    for (const plot::Point& point : curves.column("seconds")) outcome.seconds += std::isfinite(point.y) ? point.y : 0;
    for (const plot::Point& point : curves.column("epoch"))
      outcome.epochs = std::max(outcome.epochs, static_cast<std::int64_t>(point.x));
  } catch (const Error&) {  // no epoch completed
  }
  read_result((fs::path(run) / "result.json").string(), outcome);
  return outcome;
}

std::string stored_error(const std::string& file) try {
  std::error_code missing;
  if (!fs::exists(file, missing)) return "";
  const std::vector<std::string> lines = train::LineFile::read(file);
  const auto json = lines.empty() ? nlohmann::json() : nlohmann::json::parse(lines.front(), nullptr, false);
  if (!json.is_object()) return "";
  const SourceLocation location{json.value("file", ""), json.value("line", 0), json.value("column", 0)};
  const std::string message = json.value("message", "");
  return reason((location.is_known() ? location.text() + ": " : "") + message.substr(0, message.find('\n')));
} catch (const nlohmann::json::exception&) {  // not written by dptrain
  return "";
} catch (const Error&) {  // not readable
  return "";
}

bool wait_until_free(const std::string& run, double seconds) {
  const int file = open((fs::path(run) / experiment::kRunLock).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const Stopwatch watch;
  bool is_free = false;
  while (!is_free && watch.seconds() < seconds) {
    is_free = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (!is_free) std::this_thread::sleep_for(kPoll);
  }
  close(file);
  return is_free;
}

ProcessRunner::ProcessRunner(const Plan& plan, ProcessOptions options)
    : plan_(plan), options_(std::move(options)), children_(options_.devices.size()) {}

ProcessRunner::~ProcessRunner() {
  for (const Child& child : children_) {
    if (child.process == 0) continue;
    kill(child.process, SIGKILL);
    int status = 0;
    status_of(child.process, 0, status);
  }
}

void ProcessRunner::start(int slot, const Trial& trial, const std::optional<std::int64_t>& epochs) {
  Child& child = children_[at(slot)];
  child.run = (fs::path(options_.folder) / trial.folder()).string();
  child.log = child.run + ".log";
  child.error_file = child.run + ".error.json";
  const Outcome so_far = outcome_of(plan_, child.run);
  if (has_ended(so_far, epochs) && so_far.objective) {
    completed_.push_back({.slot = slot, .kind = ProcessResult::ExitKind::kDone, .outcome = so_far});
    return;
  }
  std::vector<std::string> words{options_.executable, "fit",         plan_.config, "--run-dir", child.run,
                                 "--resume=auto",     "--no-report", "--progress", "off",       "--quiet"};
  const auto add = [&](const char* flag, const std::string& value) {
    words.emplace_back(flag), words.push_back(value);
  };
  for (const std::string& set : options_.sets) add("--set", set);
  for (const std::string& set : sets_of(plan_, trial)) add("--set", set);
  for (const std::string& variable : plan_.variables) add("--var", variable);
  if (epochs) add("--epochs", std::to_string(*epochs));
  words.insert(words.end(), options_.devices[at(slot)].begin(), options_.devices[at(slot)].end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const int log = open(child.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log < 0) throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write: {}", child.log, std::strerror(errno)));
  child.log_begin = lseek(log, 0, SEEK_END);
  std::error_code ignored;
  fs::remove(child.error_file, ignored);
  std::string variable = fmt::format("{}={}", kErrorFile, child.error_file);
  const std::vector<char*> environment = environment_with(variable);
  const pid_t parent = getpid();
  child.process = fork();
  const int failure = errno;
  if (child.process == 0) exec_trial(pointers, environment, plan_.directory.c_str(), log, parent);
  close(log);
  if (child.process < 0) {
    child.process = 0;
    throw Error(ErrorKind::kDevice, fmt::format("cannot start a process: {}; run fewer trials side by side with "
                                                "--parallel",
                                                std::strerror(failure)));
  }
}

std::vector<ProcessResult> ProcessRunner::poll() {
  std::vector<ProcessResult> all = std::exchange(completed_, {});
  for (std::size_t slot = 0; slot < children_.size(); ++slot) {
    int status = 0;
    const pid_t process = children_[slot].process;
    if (process == 0 || status_of(process, WNOHANG, status) != process) continue;
    children_[slot].process = 0;
    all.push_back(ended(static_cast<int>(slot), status));
  }
  if (all.empty()) std::this_thread::sleep_for(kPoll);
  return all;
}

ProcessResult ProcessRunner::ended(int slot, int status) const {
  const Child& child = children_[at(slot)];
  ProcessResult ended{.slot = slot, .kind = ProcessResult::ExitKind::kDone, .outcome = outcome_of(plan_, child.run)};
  ended.outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (ended.outcome.exit_code == 0) {
    if (ended.outcome.objective) return ended;
    ended.kind = ProcessResult::ExitKind::kFailed;
    ended.outcome.reason = ended.outcome.epochs == 0 ? "it has no whole epoch, so there is no " + plan_.objective
                                                     : fmt::format("no epoch has a finite {}", plan_.objective);
    return ended;
  }
  const bool by_signal = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
  const bool by_request =
      WIFEXITED(status) && (WEXITSTATUS(status) == 128 + SIGTERM || WEXITSTATUS(status) == train::kStoppedUnsaved);
  // A signal to the whole process group may reach the trial before this process has seen it.
  const bool stops = stopping_ || train::Signals::stop_signal() != 0;
  ended.kind =
      stops && (by_signal || by_request) ? ProcessResult::ExitKind::kStopped : ProcessResult::ExitKind::kFailed;
  if (ended.outcome.reason.empty()) {
    std::string message = stored_error(child.error_file);
    if (message.empty()) message = last_error(child.log, child.log_begin);
    ended.outcome.reason = reason_of(status, message, child.log);
  }
  std::error_code ignored;
  fs::remove(child.error_file, ignored);
  return ended;
}

void ProcessRunner::stop() {
  stopping_ = true;
  for (const Child& child : children_)
    if (child.process != 0) kill(child.process, SIGTERM);
}

}  // namespace dptrain::sweep
