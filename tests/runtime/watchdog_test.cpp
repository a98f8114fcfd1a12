#include "runtime/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dptrain::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Timeouts kPatience{.seconds = 60, .first_seconds = 600};
const std::vector<bool> kBoth{true, true};

struct Watched {
  Watched()
      : dog(
            {"replica 0", "replica 1"}, kPatience, [this](int rank) { return rank == waiting; },
            [this](const std::string& why) { stopped.push_back(why); }, [this] { return now; }) {}
  void rest(double seconds) { now += seconds; }

  double now = 1000;
  std::vector<std::string> stopped;
  int waiting = -1;
  Watchdog dog;
};

TEST(Watchdog, ReplicasThatBeatOrHaveEndedAreNotLate) {
  Watched w;
  w.dog.warm();
  w.dog.begin("");
  for (int i = 0; i < 3; ++i) {
    w.rest(59);
    w.dog.check(kBoth);
    w.dog.heartbeat(0).beat("forward of layer");
    w.dog.heartbeat(1).beat("forward of layer");
  }
  w.dog.check(kBoth);
  for (int i = 0; i < 3; ++i) {
    w.rest(59);
    w.dog.heartbeat(0).beat("forward of layer");
    w.dog.check({true, false});
  }
  EXPECT_EQ(w.dog.end(), std::nullopt);
  EXPECT_THAT(w.stopped, IsEmpty());
}

TEST(Watchdog, AllowsMoreTimeInTheFirstStep) {
  Watched w;
  w.dog.begin("");
  w.rest(599);
  w.dog.check(kBoth);
  EXPECT_THAT(w.stopped, IsEmpty());
  w.rest(2);
  w.dog.check(kBoth);
  EXPECT_THAT(w.stopped, ElementsAre(HasSubstr("replica 0: no progress for 601 s in nothing yet")));
}

TEST(Watchdog, NamesTheHangingReplicaRatherThanWaitingOnes) {
  const std::string layer = "conv2";
  Watched w;
  w.dog.warm();
  w.waiting = 0;
  w.dog.begin(", step 3");
  w.dog.heartbeat(0).beat("summing gradients over the replicas");
  w.dog.check(kBoth);
  w.rest(0.5);  // it began its layer when the other was already waiting
  w.dog.heartbeat(1).beat("backward of layer", &layer);
  w.dog.check(kBoth);
  w.rest(60.2);
  w.dog.check(kBoth);
  ASSERT_THAT(w.stopped,
              ElementsAre(HasSubstr("replica 1, step 3: no progress for 60.2 s in backward of layer conv2; ")));
  w.dog.check(kBoth);  // reported once
  EXPECT_EQ(w.stopped.size(), 1U);
  const auto late = w.dog.end();  // the replica returns late
  ASSERT_TRUE(late);
  EXPECT_EQ(late->kind(), ErrorKind::kDeadline);
  w.dog.begin("");
  EXPECT_EQ(w.dog.end(), std::nullopt);
}

TEST(Watchdog, NamesTheFirstReplicaIfAllWait) {
  Watched w;
  w.dog.warm();
  w.waiting = 0;
  w.dog.begin("");
  w.rest(61);
  w.dog.check({true, false});
  EXPECT_THAT(w.stopped, IsEmpty());
  w.rest(2);
  w.dog.check({true, false});
  EXPECT_THAT(w.stopped, ElementsAre(HasSubstr("replica 0: no progress")));
}

TEST(Watchdog, AllowsThreeTimesTheLongestStep) {
  Watched w;
  w.dog.begin("");
  w.rest(100);
  EXPECT_EQ(w.dog.end(), std::nullopt);
  w.dog.warm();
  w.dog.begin("");
  w.rest(299);
  w.dog.check(kBoth);
  EXPECT_THAT(w.stopped, IsEmpty());
  w.rest(2);
  w.dog.check(kBoth);
  EXPECT_EQ(w.stopped.size(), 1U);
}

}  // namespace
}  // namespace dptrain::runtime
