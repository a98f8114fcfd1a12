#include "sweep/sweep_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tests/support/folder.h"
#include "train/line_file.h"

namespace dptrain::sweep {
namespace {

Sweep example() {
  Sweep sweep;
  Plan& plan = sweep.plan;
  plan.config = "net.yaml";
  plan.directory = "/home/somebody";
  plan.config_checksum = 0xFFFFFFFF;
  plan.sets = {"name=\"x\"", "train.epochs=9"};
  plan.variables = {"DATA=/data"};
  plan.vary = {"a=1e-4..1e-2:log", "b='x, y',z"};
  plan.strategy = Strategy::kHalving;
  plan.trials = 3;
  plan.seed = 0xFFFFFFFFFFFFFFFF;
  plan.objective = "val_auc";
  plan.larger_wins = true;
  plan.eta = 4;
  plan.rungs = {2, 9};
  sweep.trials = trials_of(plan);
  sweep.trials[0].status = Status::kDone;
  sweep.trials[0].rung = 1;
  sweep.trials[0].outcome = {.exit = "completed", .objective = 1.0 / 3, .best_epoch = 8, .epochs = 9, .seconds = 1.25};
  sweep.trials[1].status = Status::kFailed;
  sweep.trials[1].outcome = {.exit_code = 6, .exit = "diverged", .reason = "the loss of step 12 is \"nan\"\n"};
  sweep.trials[2].status = Status::kRunning;
  return sweep;
}

TEST(SweepFile, ReadsBackTheSame) {
  const test::Folder folder;
  const Sweep written = example();
  write_sweep(folder.path().string(), written);
  const Sweep read = read_sweep(folder.path().string());
  EXPECT_EQ(read.plan.config, written.plan.config);
  EXPECT_EQ(read.plan.directory, written.plan.directory);
  EXPECT_EQ(read.plan.config_checksum, written.plan.config_checksum);
  EXPECT_EQ(read.plan.sets, written.plan.sets);
  EXPECT_EQ(read.plan.variables, written.plan.variables);
  EXPECT_EQ(read.plan.vary, written.plan.vary);
  EXPECT_EQ(read.plan.strategy, written.plan.strategy);
  EXPECT_EQ(read.plan.trials, written.plan.trials);
  EXPECT_EQ(read.plan.seed, written.plan.seed);
  EXPECT_EQ(read.plan.objective, written.plan.objective);
  EXPECT_EQ(read.plan.larger_wins, written.plan.larger_wins);
  EXPECT_EQ(read.plan.eta, written.plan.eta);
  EXPECT_EQ(read.plan.rungs, written.plan.rungs);
  ASSERT_EQ(read.trials.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const Trial &a = read.trials[i], &b = written.trials[i];
    EXPECT_EQ(a.number, b.number);
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.rung, b.rung);
    EXPECT_EQ(a.outcome.objective, b.outcome.objective);
    EXPECT_EQ(a.outcome.best_epoch, b.outcome.best_epoch);
    EXPECT_EQ(a.outcome.epochs, b.outcome.epochs);
    EXPECT_EQ(a.outcome.seconds, b.outcome.seconds);
    EXPECT_EQ(a.outcome.exit, b.outcome.exit);
    EXPECT_EQ(a.outcome.exit_code, b.outcome.exit_code);
    EXPECT_EQ(a.outcome.reason, b.outcome.reason);
  }
}

TEST(SweepFile, RejectsInvalidFiles) {
  const test::Folder folder;
  const std::string path = folder.path().string();
  EXPECT_FALSE(is_sweep(path));
  try {
    read_sweep(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
  write_sweep(path, example());
  EXPECT_TRUE(is_sweep(path));
  const std::string whole = train::read_text(folder / "sweep.json");
  for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string("[]"), std::string("{\"version\": 2}"),
                                  std::string(whole).replace(whole.find("\"rung\": 1"), 9, "\"rung\": 7")}) {
    train::write_text(folder / "sweep.json", text);
    try {
      read_sweep(path);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData) << text;
    }
  }
}

TEST(SweepFile, ResolvesToTheRunsOfItsTrials) {
  const test::Folder folder;
  const std::string path = folder.path().string();
  write_sweep(path, example());
  std::filesystem::create_directory(folder / "001");
  EXPECT_THROW(runs_of({path}), Error);
  std::ofstream(folder / "001/train.csv") << "epoch\n1\n";
  std::ofstream(folder / "001.log") << "";
  EXPECT_EQ(runs_of({path}), std::vector<std::string>{folder / "001"});
  EXPECT_EQ(runs_of({folder / "001", folder / "001.log", folder / "sweep.json"}),
            std::vector<std::string>{folder / "001"});
  EXPECT_EQ(runs_of({"elsewhere/007", "no-such.csv"}), (std::vector<std::string>{"elsewhere/007", "no-such.csv"}));
}

}  // namespace
}  // namespace dptrain::sweep
