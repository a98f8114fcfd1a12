#include "train/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <initializer_list>

#include "core/log.h"
#include "core/terminal.h"

namespace dptrain::train {
namespace {

std::atomic<int> stop_requested{0};
std::atomic<const char*> stop_answer{""}, quit_answer{""};
std::atomic<bool> save_requested{false}, status_requested{false}, training{false}, ended{false};
std::atomic<bool> answers_as_json{false};  // copied from the log, whose lock quit() must not take

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

sigset_t taken() { return set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1}); }

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  const sigset_t set = set_of({signal});
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

void put(const char* text) {
  // Without stderr only the exit code remains.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

/// Does not use the log, whose lock a hanging thread may hold. Replaces the progress bar on a terminal.
[[noreturn]] void quit() {
  const bool is_json = answers_as_json;
  if (!is_json && terminal::has_cursor(STDERR_FILENO)) put("\r\033[K");
  put(is_json ? "{\"level\":\"error\",\"message\":\"" : "");
  put(quit_answer.load());
  put(is_json ? "\"}\n" : "\n");
  _exit(kStoppedUnsaved);
}

void stop(int signal) {
  if (!training) return end_by(signal);
  if (stop_requested.exchange(signal) != 0) quit();
  log::notice(stop_answer.load());  // not a warning: the report lists warnings of train.log as faults
}

}  // namespace

Signals::Signals() {
  ended = false;
  const sigset_t set = taken();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  listener_ = std::thread([this] { listen(); });
}

Signals::~Signals() {
  ended = true;
  pthread_kill(listener_.native_handle(), SIGUSR1);
  listener_.join();
  const sigset_t set = taken();
  const timespec now{};
  while (sigtimedwait(&set, nullptr, &now) > 0) {  // late signals must not end the process
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  stop_requested = 0;
  save_requested = status_requested = false;
}

void Signals::listen() {
  const sigset_t set = taken();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (ended) return;
    if (signal == SIGHUP)
      save_requested = true;
    else if (signal == SIGUSR1)
      status_requested = true;
    else
      stop(signal);
  }
}

int Signals::stop_signal() { return stop_requested; }
bool Signals::consume_save_request() { return save_requested.exchange(false); }
bool Signals::consume_status_request() { return status_requested.exchange(false); }

Training::Training(const char* first, const char* second) {
  stop_answer = first;
  quit_answer = second;
  answers_as_json = log::is_json();
  training = true;
}
Training::~Training() { training = false; }

}  // namespace dptrain::train
