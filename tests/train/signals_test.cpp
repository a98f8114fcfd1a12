#include "train/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace dptrain::train {
namespace {

/// What a signal to the process asks for; it takes a moment until the listener has it.
template <class Asked>
void send_until(int signal, Asked asked) {
  kill(getpid(), signal);
  while (!asked()) std::this_thread::yield();
}

bool is_blocked(int signal) {
  sigset_t mask;
  return pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 && sigismember(&mask, signal) == 1;
}

TEST(Signals, AreRequestsWhileTraining) {
  const Signals signals;
  const Training training;
  EXPECT_FALSE(Signals::take_save());
  send_until(SIGHUP, [] { return Signals::take_save(); });
  send_until(SIGUSR1, [] { return Signals::take_status(); });
  EXPECT_FALSE(Signals::take_status()) << "once";
  EXPECT_EQ(Signals::stop_signal(), 0);
  send_until(SIGTERM, [] { return Signals::stop_signal() == SIGTERM; });
}

TEST(Signals, AreBlockedInEveryOtherThread) {
  {
    const Signals signals;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
      EXPECT_TRUE(is_blocked(signal));
      bool blocked = false;
      std::thread([&] { blocked = is_blocked(signal); }).join();
      EXPECT_TRUE(blocked);
    }
  }
  EXPECT_FALSE(is_blocked(SIGINT));
  const Signals another;
  EXPECT_EQ(Signals::stop_signal(), 0) << "each begins afresh";
}

/// In a process of its own.
template <class Run>
int status_of(Run run) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Signals, BeforeTrainingTheyEndTheProcess) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const int status = status_of([&] {
      const Signals signals;
      kill(getpid(), signal);
      for (;;) pause();
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
  }
}

TEST(Signals, ASecondOneLeavesAtOnceWithACodeOfItsOwn) {
  const int status = status_of([] {
    const Signals signals;
    const Training training;
    send_until(SIGINT, [] { return Signals::stop_signal() != 0; });
    kill(getpid(), SIGINT);
    for (;;) pause();
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kStoppedUnsaved);
}

TEST(Signals, NothingThatCameTooLateEndsTheProcess) {
  const int status = status_of([] {
    {
      const Signals signals;
      pthread_kill(pthread_self(), SIGHUP);  // pending for this thread alone: the listener cannot take it
    }
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace dptrain::train
