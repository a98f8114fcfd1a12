#include "train/signals.h"

#include <unistd.h>
#include <csignal>

#include <array>
#include <atomic>

namespace dptrain::train {
namespace {

// All that a handler may touch; lock-free atomics are safe in one.
std::atomic<int> stop_requested{0};
std::atomic<bool> save_requested{false}, status_requested{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

constexpr std::array kHandled{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
std::array<struct sigaction, kHandled.size()> previous_actions;

extern "C" void dptrain_on_signal(int signal) {
  if (signal == SIGHUP) {
    save_requested = true;
  } else if (signal == SIGUSR1) {
    status_requested = true;
  } else {
    int none = 0;
    if (!stop_requested.compare_exchange_strong(none, signal)) _exit(128 + signal);  // asked twice: now
  }
}

}  // namespace

Signals::Signals() {
  stop_requested = 0;
  save_requested = status_requested = false;
  struct sigaction action {};
  action.sa_handler = dptrain_on_signal;
  action.sa_flags = SA_RESTART;  // reads and writes under way go on
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], &action, &previous_actions[i]);
}

Signals::~Signals() {
  for (std::size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], &previous_actions[i], nullptr);
}

int Signals::stop_signal() { return stop_requested; }
bool Signals::take_save() { return save_requested.exchange(false); }
bool Signals::take_status() { return status_requested.exchange(false); }

}  // namespace dptrain::train
