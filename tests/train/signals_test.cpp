#include "train/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "core/log.h"

namespace dptrain::train {
namespace {

/// Sends a signal to the process and waits until the listener has received it.
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
  {
    const Signals signals;
    const Training training;
    EXPECT_FALSE(Signals::consume_save_request());
    send_until(SIGHUP, [] { return Signals::consume_save_request(); });
    send_until(SIGUSR1, [] { return Signals::consume_status_request(); });
    EXPECT_FALSE(Signals::consume_status_request()) << "once";
    EXPECT_EQ(Signals::stop_signal(), 0);
    send_until(SIGTERM, [] { return Signals::stop_signal() == SIGTERM; });
  }
  EXPECT_EQ(Signals::stop_signal(), 0) << "requests of a run must not stop the next one";
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
}

/// Each test runs in a fresh process: under ThreadSanitizer, a process with threads of other tests cannot fork.
class SignalsDeathTest : public testing::Test {
 protected:
  SignalsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SignalsDeathTest, BeforeTrainingTheyEndTheProcess) {
  for (const int signal : {SIGINT, SIGTERM})
    EXPECT_EXIT(
        {
          const Signals signals;
          kill(getpid(), signal);
          for (;;) pause();
        },
        testing::KilledBySignal(signal), "");
}

TEST_F(SignalsDeathTest, ASecondOneExitsAtOnceWithItsCode) {
  EXPECT_EXIT(
      {
        const Signals signals;
        const Training training;
        send_until(SIGINT, [] { return Signals::stop_signal() != 0; });
        kill(getpid(), SIGINT);
        for (;;) pause();
      },
      testing::ExitedWithCode(kStoppedUnsaved),
      "saving after this step; press Ctrl-C again to quit without saving\nstopped at once; nothing was saved since the "
      "last checkpoint\n");
}

TEST_F(SignalsDeathTest, AnswersAreJsonWithLogJson) {
  EXPECT_EXIT(
      {
        log::configure({.format = log::Format::kJson, .quiet = true});
        const Signals signals;
        const Training training("first", "second");
        send_until(SIGINT, [] { return Signals::stop_signal() != 0; });
        kill(getpid(), SIGINT);
        for (;;) pause();
      },
      testing::ExitedWithCode(kStoppedUnsaved),
      R"(^\{"level":"info","message":"first"\}.\{"level":"error","message":"second"\}.$)");
}

TEST_F(SignalsDeathTest, LateSignalsDoNotEndTheProcess) {
  EXPECT_EXIT(
      {
        {
          const Signals signals;
          pthread_kill(pthread_self(), SIGHUP);  // pending for this thread only: the listener cannot receive it
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dptrain::train
