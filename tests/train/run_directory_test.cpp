#include "train/run_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "train/callback.h"
#include "train/line_file.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

const char* kRunDirectoryConfig =
    "dptrain: 1\n"
    "name: tiny net\n"
    "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, activation: softmax}}]}\n"
    "data:\n"
    "  train: {Synthetic: {samples: 12}}\n"
    "  validation: {Synthetic: {samples: 6}}\n"
    "train: {epochs: 2, batch_size: 3, loss: categorical_crossentropy, metrics: [accuracy]}\n";

class RunDirectoryTest : public ::testing::Test {
 protected:
  RunDirectoryTest() : folder_(fs::temp_directory_path() / ("dptrain-run-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(folder_ / "tiny.yaml") << kRunDirectoryConfig;
    experiment_ =
        experiment::load_experiment((folder_ / "tiny.yaml").string(), {{"run_dir=" + (folder_ / "runs").string()}, {}});
  }
  ~RunDirectoryTest() override { fs::remove_all(folder_); }

  RunDirectory make(const RunOptions& options = {}) const { return {experiment_, options, {"a", "b", "c"}}; }
  RunOptions in(const std::string& directory) const {
    RunOptions options;
    options.directory = (folder_ / directory).string();
    return options;
  }
  std::string text(const fs::path& file) const {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }
  static experiment::Logs logs(double loss, double accuracy, bool validated = true) {
    experiment::Logs logs;
    logs.set("loss", loss);
    logs.set("accuracy", accuracy);
    if (validated) {
      logs.set("val_loss", loss + 1);
      logs.set("val_accuracy", accuracy / 2);
    }
    return logs;
  }

  fs::path folder_;
  experiment::Experiment experiment_;
};

TEST_F(RunDirectoryTest, NumbersRunsFromOne) {
  EXPECT_EQ(fs::path(make().path()), folder_ / "runs/tiny-net/001");  // a blank would be a nuisance in a shell
  EXPECT_EQ(fs::path(make().path()).filename(), "002");
  fs::create_directories(folder_ / "runs/tiny-net/041");
  fs::create_directories(folder_ / "runs/tiny-net/notes");
  EXPECT_EQ(fs::path(make().path()).filename(), "042");
  RunOptions named;
  named.name = "other";
  EXPECT_EQ(fs::path(make(named).path()), folder_ / "runs/other/001");
}

TEST_F(RunDirectoryTest, DescribesTheRun) {
  RunOptions options;
  options.command = {"dptrain", "fit", "tiny.yaml", "--set", "name=it's"};
  const RunDirectory run = make(options);
  EXPECT_EQ(text(run.file("config.yaml")), kRunDirectoryConfig);
  EXPECT_EQ(text(run.file("command.txt")), "dptrain fit tiny.yaml --set 'name=it'\\''s'\n");
  EXPECT_EQ(text(run.file("labels.txt")), "a\nb\nc\n");
  EXPECT_TRUE(fs::is_directory(fs::path(run.path()) / "checkpoints"));
  const experiment::Experiment again = experiment::load_experiment(run.file("config.resolved.yaml"), {});
  EXPECT_EQ(again.config.name, "tiny net");
  EXPECT_EQ(again.graph.nodes.size(), experiment_.graph.nodes.size());
}

TEST_F(RunDirectoryTest, TrainCsvHasTheStableHeader) {
  RunDirectory run = make();
  run.epoch_row(1, logs(0.5, 0.25), 1e-3, 1234.5, 2.0);
  run.epoch_row(2, logs(1.0 / 3, 0.75), 1e-3, 1000, 2.5);
  EXPECT_EQ(text(run.file("train.csv")),
            "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n"
            "1,0.5,0.25,1.5,0.125,0.001,1234.5,2\n"
            "2,0.333333333,0.75,1.33333333,0.375,0.001,1000,2.5\n");
}

TEST_F(RunDirectoryTest, EpochsWithoutValidationLeaveTheirFieldsEmpty) {
  RunDirectory run = make();
  run.epoch_row(1, logs(0.5, 0.25, false), 1e-3, 10, 1);
  run.epoch_row(2, logs(0.5, 0.25), 1e-3, 10, 1);
  EXPECT_EQ(text(run.file("train.csv")),
            "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n"
            "1,0.5,0.25,,,0.001,10,1\n"
            "2,0.5,0.25,1.5,0.125,0.001,10,1\n");
}

TEST_F(RunDirectoryTest, ARowOfAPartialEpochIsReplaced) {
  std::optional<RunDirectory> run(make(in("here")));
  run->epoch_row(1, logs(0.5, 0.5), 1e-3, 10, 1);
  run->epoch_row(2, logs(0.4, 0.5, false), 1e-3, 10, 0.5);
  run.reset();
  RunOptions options = in("here");
  options.resuming_here = true;
  RunDirectory again = make(options);
  again.epoch_row(2, logs(0.25, 0.5), 1e-3, 10, 1);
  EXPECT_EQ(text(again.file("train.csv")),
            "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n"
            "1,0.5,0.5,1.5,0.25,0.001,10,1\n"
            "2,0.25,0.5,1.25,0.25,0.001,10,1\n");
}

TEST_F(RunDirectoryTest, TruncatesToWhatTheStateKnows) {
  std::optional<RunDirectory> run(make(in("here")));
  for (const int epoch : {1, 2, 3}) run->epoch_row(epoch, logs(1.0 / epoch, 0.5), 1e-3, 10, 1);
  for (const std::int64_t step : {4, 8, 12}) run->step_row({.step = step, .epoch_from_1 = step / 4, .loss = 0.5});
  run->event("step", {{"step", 4}});
  std::ofstream(run->file("train.csv"), std::ios::app) << "4,0.1";  // torn: killed while writing
  std::ofstream(run->file("events.jsonl"), std::ios::app) << "{\"t\":1,\"ev\"";
  run.reset();
  RunOptions options = in("here");
  options.resuming_here = true;
  RunDirectory again = make(options);
  again.truncate_to(1, 8);
  EXPECT_EQ(text(again.file("train.csv")),
            "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n1,1,0.5,2,0.25,0.001,10,1\n");
  EXPECT_EQ(text(again.file("steps.csv")),
            "step,epoch,loss,lr,examples_per_second,step_ms,data_wait_ms,comm_exposed_ms\n4,1,0.5,0,0,0,0,0\n8,2,0.5,0,"
            "0,0,0,0\n");
  EXPECT_EQ(LineFile::read(again.file("events.jsonl")).size(), 1U);
  again.epoch_row(2, logs(0.5, 0.5), 1e-3, 10, 1);
  EXPECT_EQ(LineFile::read(again.file("train.csv")).size(), 3U);
}

TEST_F(RunDirectoryTest, EventsAreJsonLines) {
  RunDirectory run = make();
  run.event("save", {{"file", "last.h5"}, {"step", 7}});
  const std::vector<std::string> lines = LineFile::read(run.file("events.jsonl"));
  ASSERT_EQ(lines.size(), 1U);
  const auto line = nlohmann::json::parse(lines.front());
  EXPECT_GT(line["t"].get<double>(), 1.6e9);
  EXPECT_EQ(line["ev"], "save");
  EXPECT_EQ(line["file"], "last.h5");
  EXPECT_EQ(line["step"], 7);
}

TEST_F(RunDirectoryTest, AFullFolderIsNotTouched) {
  fs::create_directories(folder_ / "mine");
  std::ofstream(folder_ / "mine/notes.txt") << "keep";
  try {
    make(in("mine"));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("is not empty; go on there with --resume"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "mine"), fs::directory_iterator()), 1);
}

TEST_F(RunDirectoryTest, OverwriteTakesOnlyWhatIsOurs) {
  std::optional<RunDirectory> run(make(in("here")));
  run->epoch_row(1, logs(0.5, 0.5), 1e-3, 10, 1);
  for (const char* name : {"here/checkpoints/last.h5", "here/checkpoints/.last.h5.tmp-123", "here/notes.txt",
                           "here/checkpoints/notes.txt"})
    std::ofstream(folder_ / name) << "x";
  run.reset();
  RunOptions options = in("here");
  options.overwrite = true;
  const RunDirectory again = make(options);
  EXPECT_FALSE(fs::exists(again.file("train.csv")));
  EXPECT_FALSE(fs::exists(again.checkpoint("last.h5")));
  EXPECT_FALSE(fs::exists(again.checkpoint(".last.h5.tmp-123")));
  EXPECT_TRUE(fs::exists(again.file("notes.txt")));
  EXPECT_TRUE(fs::exists(again.checkpoint("notes.txt")));
}

TEST_F(RunDirectoryTest, OneProcessAtATime) {
  std::string path;
  {
    const RunDirectory run = make(in("mine"));
    path = run.path();
    for (const bool overwrite : {false, true}) {
      RunOptions again = in("mine");
      again.overwrite = overwrite;
      again.resuming_here = !overwrite;
      try {
        make(again);
        FAIL();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kUsage);
        EXPECT_NE(std::string(error.what()).find("process " + std::to_string(getpid())), std::string::npos)
            << error.what();
      }
    }
    EXPECT_TRUE(fs::exists(fs::path(path) / "config.yaml")) << "nothing was wiped";
  }
  RunOptions again = in("mine");
  again.resuming_here = true;
  EXPECT_EQ(make(again).path(), path);
}

TEST_F(RunDirectoryTest, AFolderWithNothingButAnOldLockIsEmpty) {
  fs::create_directories(folder_ / "killed");
  std::ofstream(folder_ / "killed/.lock") << "process 1";
  EXPECT_NO_THROW(make(in("killed")));
}

TEST_F(RunDirectoryTest, RestartingTakesWhatAKilledStartHasLeft) {
  RunOptions restart = in("killed");
  restart.restarting_here = true;
  for (const char* left : {"config.yaml", ".env.json.tmp-4711", ".command.txt.tmp-4711",
                           "checkpoints/.last.h5.tmp-4711", "checkpoints/steps/.002.h5.tmp-4711"}) {
    fs::create_directories(folder_ / "killed/checkpoints/steps");  // made while last.h5 was being written
    std::ofstream(folder_ / "killed" / left) << "half";
    EXPECT_NO_THROW(make(restart)) << left;
    EXPECT_EQ(fs::exists(folder_ / "killed" / left), std::string(left) == "config.yaml") << left;
    fs::remove_all(folder_ / "killed");
  }
}

TEST_F(RunDirectoryTest, RestartingTakesTheTablesOfItsOwnCallbacks) {
  RunOptions restart = in("killed");
  restart.restarting_here = true;
  fs::create_directories(folder_ / "killed/tables/deep");
  std::ofstream(folder_ / "killed/tables/deep/mine.csv") << "epoch,loss\n";
  EXPECT_THROW(make(restart), Error);
  experiment::CSVLoggerSpec logger;
  logger.filename = "tables/deep/mine.csv";
  experiment_.config.callbacks.push_back(experiment::callback_family().make(logger));
  EXPECT_NO_THROW(make(restart));
  std::ofstream(folder_ / "killed/tables/others.csv") << "mine";
  EXPECT_THROW(make(restart), Error);
}

TEST_F(RunDirectoryTest, RestartingNeverTakesACheckpoint) {
  RunOptions restart = in("run");
  restart.restarting_here = true;
  for (const char* precious : {"checkpoints/best.h5", "checkpoints/notes.txt", "model.h5", ".notes.tmp-12"}) {
    fs::create_directories(folder_ / "run/checkpoints");
    std::ofstream(folder_ / "run/config.yaml") << "old";
    std::ofstream(folder_ / "run" / precious) << "mine";
    EXPECT_THROW(make(restart), Error) << precious;
    EXPECT_EQ(text(folder_ / "run" / precious), "mine");
    EXPECT_EQ(text(folder_ / "run/config.yaml"), "old");
    fs::remove_all(folder_ / "run");
  }
}

TEST_F(RunDirectoryTest, OverwriteDoesNotReachThroughALink) {
  fs::create_directories(folder_ / "elsewhere");
  std::ofstream(folder_ / "elsewhere/other.h5") << "mine";
  make(in("run"));
  fs::remove_all(folder_ / "run/checkpoints");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "run/checkpoints");
  std::ofstream(folder_ / "elsewhere/command.txt") << "mine";
  fs::remove(folder_ / "run/command.txt");
  fs::create_symlink(folder_ / "elsewhere/command.txt", folder_ / "run/command.txt");
  RunOptions again = in("run");
  again.overwrite = true;
  make(again);
  EXPECT_EQ(text(folder_ / "elsewhere/other.h5"), "mine");
  EXPECT_EQ(text(folder_ / "elsewhere/command.txt"), "mine");
}

/// A folder in a file's place stands for a disk that cannot be read.
TEST_F(RunDirectoryTest, WhatCannotBeReadIsNotReplaced) {
  RunOptions again = in("run");
  again.resuming_here = true;
  for (const char* name : {"train.csv", "command.txt"}) {
    make(in("run"));
    fs::remove(folder_ / "run" / name);
    fs::create_directories(folder_ / "run" / name);
    try {
      make(again);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kWrite);
      EXPECT_NE(std::string(error.what()).find("cannot read"), std::string::npos) << error.what();
    }
    fs::remove_all(folder_ / "run");
  }
}

TEST_F(RunDirectoryTest, LinesAreWrittenAtTheEndOrMissed) {
  RunDirectory run = make();
  fs::create_directory(run.file("steps.csv"));
  run.step_row({.step = 1});
  EXPECT_FALSE(run.flush());
  fs::remove(run.file("steps.csv"));
  EXPECT_TRUE(run.flush());
  EXPECT_EQ(LineFile::read(run.file("steps.csv")).size(), 2U) << "with its header";
}

TEST_F(RunDirectoryTest, WhatCannotBeWrittenIsSaidAtOnce) {
  std::ofstream(folder_ / "file") << "x";
  for (const char* directory : {"file", "file/below"}) {
    try {
      make(in(directory));
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kWrite) << error.what();
    }
  }
}

TEST_F(RunDirectoryTest, TheNewestRunHasACheckpoint) {
  EXPECT_EQ(RunDirectory::newest(experiment_, std::nullopt), "");
  for (int i = 0; i < 3; ++i) make();
  EXPECT_EQ(RunDirectory::newest(experiment_, std::nullopt), "");
  std::ofstream(folder_ / "runs/tiny-net/002/checkpoints/last.h5") << "x";
  EXPECT_EQ(fs::path(RunDirectory::newest(experiment_, std::nullopt)), folder_ / "runs/tiny-net/002");
  EXPECT_EQ(RunDirectory::newest(experiment_, "other"), "");
}

TEST_F(RunDirectoryTest, LinesThatCannotBeWrittenAreKept) {
  const fs::path path = folder_ / "later/lines.csv";  // its folder does not exist yet
  LineFile file(path.string());
  file.append("1", "header");
  file.append("2", "header");
  EXPECT_FALSE(fs::exists(path));
  fs::create_directories(path.parent_path());
  file.append("3", "header");
  EXPECT_EQ(LineFile::read(path.string()), (std::vector<std::string>{"header", "1", "2", "3"}));
}

}  // namespace
}  // namespace dptrain::train
