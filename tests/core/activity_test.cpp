#include "core/activity.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace dptrain {
namespace {

/// Waits until a watch has reported an expected text.
class ReportedStates {
 public:
  ActivityWatch::Show show() {
    return [this](const ActivityState* state) {
      const std::lock_guard lock(mutex_);
      all_.push_back(state == nullptr ? std::nullopt : std::optional(*state));
      changed_.notify_one();
    };
  }
  std::optional<ActivityState> next_that(const std::function<bool(const std::optional<ActivityState>&)>& fits) {
    std::unique_lock lock(mutex_);
    for (std::size_t seen = 0;; ++seen) {
      changed_.wait(lock, [&] { return all_.size() > seen; });
      if (fits(all_[seen])) return all_[seen];
    }
  }
  std::vector<std::optional<ActivityState>> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<ActivityState>> all_;
};

TEST(Activity, ReportsTheInnermostThenNone) {
  ReportedStates reported;
  const ActivityWatch watch(0, 0.001, reported.show());
  {
    Activity outer("opening the data");
    reported.next_that([](const auto& state) { return state && state->what == "opening the data"; });
    {
      Activity inner("reading a.csv", 40, Activity::Unit::kBytes);
      inner.advance(30);
      const auto state =
          reported.next_that([](const auto& s) { return s && s->what == "reading a.csv" && s->done == 30; });
      EXPECT_EQ(state->total, 40);
      EXPECT_EQ(state->unit, Activity::Unit::kBytes);
    }
    const std::size_t before = reported.all().size();
    reported.next_that([&, seen = std::size_t{0}](const auto& state) mutable {
      return seen++ > before && state && state->what == "opening the data";
    });
  }
  reported.next_that([](const auto& state) { return !state; });
}

TEST(Activity, DoesNotReportShortOnes) {
  ReportedStates reported;
  {
    const ActivityWatch watch(1000, 0.001, reported.show());
    const Activity activity("quick");
  }
  EXPECT_TRUE(reported.all().empty());
}

TEST(Activity, AWatchRemovesItsTextAtTheEnd) {
  ReportedStates reported;
  const Activity activity("slow");
  {
    const ActivityWatch watch(0, 0.001, reported.show());
    reported.next_that([](const auto& state) { return state.has_value(); });
  }
  EXPECT_FALSE(reported.all().back().has_value());
}

}  // namespace
}  // namespace dptrain
