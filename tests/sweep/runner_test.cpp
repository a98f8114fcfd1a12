#include "sweep/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "core/index.h"
#include "sweep/schedule.h"
#include "tests/support/folder.h"

namespace dptrain::sweep {
namespace {

/// Does not train: a trial's objective is a function of its values and epochs, and trials end out of order.
class FakeRunner final : public Runner {
 public:
  FakeRunner(int slots, std::set<std::int64_t> fail = {}) : running_(at(slots)), fail_(std::move(fail)) {}

  int slots() const override { return static_cast<int>(running_.size()); }

  void start(int slot, const Trial& trial, const std::optional<std::int64_t>& epochs) override {
    ASSERT_FALSE(running_[at(slot)]) << "the slot is taken";
    for (const auto& other : running_)
      if (other) {
        ASSERT_NE(other->first.number, trial.number) << "the trial runs twice";
      }
    running_[at(slot)] = {trial, epochs.value_or(10)};
    ++starts[{trial.number, epochs.value_or(10)}];
    most_at_once = std::max(most_at_once, busy());
  }

  std::vector<ProcessResult> poll() override {
    if (stopping_) {
      std::vector<ProcessResult> all;
      for (int slot = 0; slot < slots(); ++slot)
        if (std::exchange(running_[at(slot)], std::nullopt))
          all.push_back({.slot = slot, .kind = ProcessResult::ExitKind::kStopped});
      return all;
    }
    // The trial in the highest slot ends first, then the next lower one, and so on cyclically.
    for (int tries = 0; tries < slots(); ++tries) {
      turn_ = (turn_ + slots() - 1) % slots();
      if (running_[at(turn_)]) return {end(turn_)};
    }
    return {};
  }

  void stop() override { stopping_ = true; }

  std::map<std::pair<std::int64_t, std::int64_t>, int> starts;  ///< by trial and epochs
  int most_at_once = 0;

 private:
  int busy() const {
    int count = 0;
    for (const auto& one : running_) count += one ? 1 : 0;
    return count;
  }

  ProcessResult end(int slot) {
    const auto [trial, epochs] = *running_[at(slot)];
    running_[at(slot)].reset();
    if (fail_.contains(trial.number))
      return {
          .slot = slot, .kind = ProcessResult::ExitKind::kFailed, .outcome = {.exit_code = 6, .reason = "diverged"}};
    const double value = std::stod(trial.values[0]) / 100 + static_cast<double>(epochs) / 1000;
    return {.slot = slot,
            .kind = ProcessResult::ExitKind::kDone,
            .outcome = {.exit = "completed", .objective = value, .best_epoch = epochs, .epochs = epochs}};
  }

  std::vector<std::optional<std::pair<Trial, std::int64_t>>> running_;
  std::set<std::int64_t> fail_;
  bool stopping_ = false;
  int turn_ = 0;
};

/// Records every written state, and requests a stop after a given number.
class FakeWatcher final : public Watcher {
 public:
  explicit FakeWatcher(std::size_t stop_after = 1'000'000) : stop_after_(stop_after) {}
  void save(const Sweep& sweep) override { kept.push_back(sweep); }
  void ended(const Sweep&, const Trial& trial) override { ended_trials.push_back(trial.number); }
  void tick(const Sweep&) override {}
  bool should_stop() override { return kept.size() >= stop_after_; }

  std::vector<Sweep> kept;
  std::vector<std::int64_t> ended_trials;

 private:
  const std::size_t stop_after_;
};

Sweep sweep_of(std::int64_t trials, std::vector<std::int64_t> rungs = {}) {
  Sweep sweep;
  sweep.plan.vary = {"a=1..1000:int"};
  sweep.plan.strategy = rungs.empty() ? Strategy::kRandom : Strategy::kHalving;
  sweep.plan.trials = trials;
  sweep.plan.objective = "val_accuracy";
  sweep.plan.larger_wins = true;
  sweep.plan.rungs = std::move(rungs);
  sweep.trials = trials_of(sweep.plan);
  return sweep;
}

std::vector<std::int64_t> numbers(const Sweep& sweep, std::size_t rung) {
  std::vector<std::int64_t> all;
  for (const Trial& trial : sweep.trials)
    if (trial.rung >= rung) all.push_back(trial.number);
  return all;
}

TEST(StoredError, IsTheFirstOfTheFileOnOneLine) {
  const test::Folder folder;
  const std::string file = folder / "001.error.json";
  EXPECT_EQ(stored_error(file), "") << "no file";
  const auto stored = [&](const std::string& text) {
    std::ofstream(file) << text;
    return stored_error(file);
  };
  EXPECT_EQ(stored(R"({"level":"error","message":"replica 1 (cpu:1): out of memory\n  parameters 1 GiB"})"
                   "\n"),
            "replica 1 (cpu:1): out of memory");
  EXPECT_EQ(stored(R"({"level":"error","file":"a.yaml","line":3,"column":7,"message":"unknown key 'x'"})"
                   "\n"
                   R"({"level":"error","file":"a.yaml","line":9,"column":1,"message":"second"})"
                   "\n"),
            "a.yaml:3:7: unknown key 'x'");
  EXPECT_EQ(stored(std::string(R"({"message":")") + std::string(400, 'x') + "\"}\n").size(), 303U);
  for (const char* text : {"", "\n", "not JSON\n", "[1]\n", R"({"message": 7})"}) EXPECT_EQ(stored(text), "") << text;
}

/// Starts a trial `starts` times with `script` in place of dptrain; returns the reason of each end.
std::vector<std::string> reasons_of(const std::string& script, int starts) {
  const test::Folder folder;
  const std::string file = folder / "dptrain";
  std::ofstream(file) << "#!/bin/sh\n" << script;
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  Sweep sweep = sweep_of(1);
  const std::string path = folder.path().string();
  sweep.plan.directory = path;
  ProcessRunner runner(sweep.plan, {.executable = file, .folder = path, .devices = {{}}});
  std::vector<std::string> reasons;
  for (int start = 0; start < starts; ++start) {
    runner.start(0, sweep.trials[0], {});
    std::vector<ProcessResult> ended;
    while (ended.empty()) ended = runner.poll();
    std::string reason = ended[0].outcome.reason;
    reason.resize(std::min(reason.size(), reason.find(path)));
    reasons.push_back(reason);
  }
  return reasons;
}

TEST(ProcessRunner, UsesTheLastErrorOfTheLogWithoutAStoredError) {
  EXPECT_EQ(
      reasons_of("[ -e begun ] && exit 9; touch begun; echo 'error: first'; echo 'error: a replica hangs'; exit 9", 2),
      (std::vector<std::string>{"exit 9: a replica hangs", "exit 9, see "}))
      << "the error of an earlier start is not repeated";
  EXPECT_EQ(reasons_of("echo 'error: in the log'; echo '{\"message\": \"stored\"}' > $DPTRAIN_ERROR_FILE; exit 2", 1),
            (std::vector<std::string>{"exit 2: stored"}));
}

TEST(Rungs, DescendFromTheEpochs) {
  EXPECT_EQ(rungs_of(1, 9, 3), (std::vector<std::int64_t>{1, 3, 9}));
  EXPECT_EQ(rungs_of(1, 10, 3), (std::vector<std::int64_t>{1, 3, 10}));
  EXPECT_EQ(rungs_of(2, 16, 2), (std::vector<std::int64_t>{2, 4, 8, 16}));
  EXPECT_EQ(rungs_of(3, 16, 2), (std::vector<std::int64_t>{4, 8, 16}));
  EXPECT_EQ(rungs_of(1, 1, 3), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(rungs_of(5, 5, 2), (std::vector<std::int64_t>{5}));
}

TEST(Runner, TrainsEachTrialOnce) {
  for (const int slots : {1, 2, 3, 8}) {
    Sweep sweep = sweep_of(7);
    FakeRunner runner(slots);
    FakeWatcher watcher;
    run(sweep, runner, watcher);
    EXPECT_EQ(runner.starts.size(), 7U);
    for (const auto& [trial, count] : runner.starts) EXPECT_EQ(count, 1);
    EXPECT_EQ(runner.most_at_once, std::min(slots, 7));
    EXPECT_EQ(watcher.ended_trials.size(), 7U);
    for (const Trial& trial : sweep.trials) EXPECT_EQ(trial.status, Status::kDone);
  }
}

TEST(Runner, AFailedTrialIsTheLastRow) {
  Sweep sweep = sweep_of(4);
  FakeRunner runner(2, {2});
  FakeWatcher watcher;
  run(sweep, runner, watcher);
  EXPECT_EQ(sweep.trials[1].status, Status::kFailed);
  EXPECT_EQ(sweep.trials[1].outcome.reason, "diverged");
  const std::vector<std::size_t> order = ranking(sweep);
  EXPECT_EQ(order.back(), 1U);
  EXPECT_GT(sweep.trials[order[0]].outcome.objective, sweep.trials[order[1]].outcome.objective);
  sweep.plan.larger_wins = false;
  EXPECT_EQ(ranking(sweep)[0], order[2]);
}

TEST(Runner, HalvingContinuesTheBest) {
  Sweep sweep = sweep_of(9, {1, 3, 9});
  FakeRunner runner(2);
  FakeWatcher watcher;
  run(sweep, runner, watcher);
  std::map<std::int64_t, int> by_epochs;
  for (const auto& [start, count] : runner.starts) {
    EXPECT_EQ(count, 1);
    ++by_epochs[start.second];
  }
  EXPECT_EQ(by_epochs, (std::map<std::int64_t, int>{{1, 9}, {3, 3}, {9, 1}}));
  // The winner has the largest value, for any order in which trials end.
  const auto largest =
      std::ranges::max_element(sweep.trials, {}, [](const Trial& trial) { return std::stod(trial.values[0]); });
  EXPECT_EQ(numbers(sweep, 2), std::vector<std::int64_t>{largest->number});
  EXPECT_EQ(sweep.trials[ranking(sweep)[0]].number, largest->number);
  EXPECT_EQ(numbers(sweep, 1).size(), 3U);
}

TEST(Runner, HalvingSkipsFailedTrials) {
  Sweep sweep = sweep_of(6, {1, 3});
  FakeRunner runner(3, {1, 2, 3, 4, 5});
  FakeWatcher watcher;
  run(sweep, runner, watcher);
  EXPECT_EQ(numbers(sweep, 1), std::vector<std::int64_t>{6});
  Sweep all_fail = sweep_of(3, {1, 3});
  FakeRunner failing(3, {1, 2, 3});
  run(all_fail, failing, watcher);
  EXPECT_TRUE(numbers(all_fail, 1).empty());
}

TEST(Runner, AnEarlyStoppedTrialKeepsItsRankWithoutTraining) {
  Sweep sweep = sweep_of(3, {1, 3});
  Schedule schedule(sweep);
  for (int i = 0; i < 3; ++i) {
    const std::size_t trial = *schedule.next();
    EXPECT_EQ(schedule.epochs_of(sweep.trials[trial]), 1);
    Outcome outcome{.exit = "completed", .objective = 0.1 * i, .best_epoch = 1, .epochs = 1};
    if (i == 2) outcome.exit = "early_stopping";
    schedule.end(trial, Status::kDone, outcome);
  }
  EXPECT_TRUE(schedule.finished());
  EXPECT_EQ(numbers(sweep, 1), std::vector<std::int64_t>{3});
  EXPECT_EQ(sweep.trials[2].status, Status::kDone);
}

TEST(Runner, CountsItsRuns) {
  Sweep sweep = sweep_of(9, {1, 3, 9});
  {
    const Schedule schedule(sweep);
    EXPECT_EQ(schedule.runs_in_all(), 13U);
    EXPECT_EQ(schedule.runs_done(), 0U);
  }
  FakeRunner runner(2);
  FakeWatcher watcher;
  run(sweep, runner, watcher);
  const Schedule schedule(sweep);
  EXPECT_EQ(schedule.runs_done(), 13U);
}

/// A killed sweep continues from the last written state, ends like an uninterrupted one, and restarts only the trials
/// that were running.
TEST(Runner, ContinuesFromEveryState) {
  for (const std::vector<std::int64_t>& rungs : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{1, 3, 9}}) {
    Sweep whole = sweep_of(9, rungs);
    FakeRunner undisturbed(2, {4});
    FakeWatcher seen;
    run(whole, undisturbed, seen);
    for (const Sweep& state : seen.kept) {
      Sweep resumed = state;
      std::set<std::pair<std::int64_t, std::int64_t>> ran;  // by trial and rung
      for (const Trial& trial : state.trials)
        if (trial.status == Status::kDone) ran.insert({trial.number, static_cast<std::int64_t>(trial.rung)});
      FakeRunner runner(3, {4});
      FakeWatcher watcher;
      run(resumed, runner, watcher);
      ASSERT_EQ(resumed.trials.size(), whole.trials.size());
      for (std::size_t i = 0; i < whole.trials.size(); ++i) {
        EXPECT_EQ(resumed.trials[i].status, whole.trials[i].status);
        EXPECT_EQ(resumed.trials[i].rung, whole.trials[i].rung);
        EXPECT_EQ(resumed.trials[i].outcome.objective, whole.trials[i].outcome.objective);
      }
      for (const auto& [start, count] : runner.starts) {
        EXPECT_EQ(count, 1);
        for (std::size_t rung = 0; rung < rungs.size(); ++rung)
          if (rungs[rung] == start.second) {
            EXPECT_FALSE(ran.contains({start.first, static_cast<std::int64_t>(rung)}));
          }
        if (rungs.empty()) {
          EXPECT_FALSE(ran.contains({start.first, 0}));
        }
      }
    }
  }
}

TEST(Runner, StopsOnRequest) {
  Sweep sweep = sweep_of(6);
  FakeRunner runner(2);
  FakeWatcher watcher(5);
  run(sweep, runner, watcher);
  const auto waiting = std::ranges::count_if(sweep.trials, [](const Trial& t) { return t.status == Status::kWaiting; });
  EXPECT_GT(waiting, 0);
  EXPECT_TRUE(std::ranges::none_of(sweep.trials, [](const Trial& t) { return t.status == Status::kRunning; }));
  EXPECT_EQ(watcher.kept.back().trials.size(), 6U);
  FakeRunner second(2);
  FakeWatcher calm;
  run(sweep, second, calm);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(second.starts.size()), waiting);
}

}  // namespace
}  // namespace dptrain::sweep
