#include "train/run_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "config/family.h"
#include "core/error.h"
#include "core/format.h"
#include "experiment/run_files.h"
#include "train/callbacks/csv_logger.h"
#include "train/callbacks/tensor_board.h"
#include "train/line_file.h"
#include "train/run_sink.h"

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

  fs::path folder_;
  experiment::Experiment experiment_;
};

TEST_F(RunDirectoryTest, PrefersBestOverFinalOverLastWeights) {
  const fs::path run = folder_ / "run";
  const auto add = [&](const std::string& name, const std::string& content = "x") {
    fs::create_directories((run / name).parent_path());
    std::ofstream(run / name) << content;
  };
  const auto weights = [&] { return fs::path(RunDirectory::weights_of(run.string())).filename().string(); };
  EXPECT_EQ(weights(), "") << "no such folder";
  add("checkpoints/last.h5");
  add("model.h5");
  EXPECT_EQ(weights(), "last.h5") << "the run has not ended: model.h5 is of an earlier part";
  for (const char* exit : {"signal", "diverged", "max_time"}) {
    add("result.json", fmt::format(R"({{"exit": "{}"}})", exit));
    EXPECT_EQ(weights(), "last.h5") << exit;
  }
  for (const char* exit : {"completed", "early_stopping"}) {
    add("result.json", fmt::format(R"({{"exit": "{}"}})", exit));
    EXPECT_EQ(weights(), "model.h5") << exit;
  }
  add("checkpoints/best.h5");
  EXPECT_EQ(weights(), "best.h5");
}

TEST_F(RunDirectoryTest, NumbersRunsFromOne) {
  EXPECT_EQ(fs::path(make().path()), folder_ / "runs/tiny-net/001");  // shells make blanks inconvenient
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

TEST_F(RunDirectoryTest, RejectsANonEmptyFolder) {
  fs::create_directories(folder_ / "mine");
  std::ofstream(folder_ / "mine/notes.txt") << "keep";
  try {
    make(in("mine"));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("is not empty; continue with --resume"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "mine"), fs::directory_iterator()), 1);
}

TEST_F(RunDirectoryTest, OverwriteRemovesOnlyFilesOfARun) {
  std::optional<RunDirectory> run(make(in("here")));
  write_text(run->file("train.csv"), "epoch,loss\n");
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

TEST_F(RunDirectoryTest, OverwriteRemovesFilesOfAnEvaluation) {
  std::optional<RunDirectory> run(make(in("here")));
  for (const char* name :
       {"report.html", "eval.json", "worst.svg", "worst-train.svg", "confusion-validation.csv", "worst-case.svg"})
    std::ofstream(run->file(name)) << "x";
  run.reset();
  RunOptions options = in("here");
  options.overwrite = true;
  const RunDirectory again = make(options);
  for (const char* name : {"report.html", "eval.json", "worst.svg", "worst-train.svg", "confusion-validation.csv"})
    EXPECT_FALSE(fs::exists(again.file(name))) << name;
  EXPECT_TRUE(fs::exists(again.file("worst-case.svg"))) << "the model has no output 'case'";
}

TEST(RunFiles, OfOneOutputAmongSeveral) {
  EXPECT_EQ(experiment::evaluation_file("confusion", "kind", "train", ".csv"), "confusion-kind-train.csv");
  EXPECT_FALSE(experiment::is_run_file("confusion-kind-train.csv"));
  EXPECT_TRUE(experiment::is_run_file("confusion-kind-train.csv", {"kind", "sure"}));
  EXPECT_TRUE(experiment::is_run_file("worst-sure.svg", {"kind", "sure"}));
  EXPECT_TRUE(experiment::is_run_file("confusion.csv", {"kind", "sure"}));
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

TEST_F(RunDirectoryTest, AFolderWithOnlyAnOldLockIsEmpty) {
  fs::create_directories(folder_ / "killed");
  std::ofstream(folder_ / "killed/.lock") << "process 1";
  EXPECT_NO_THROW(make(in("killed")));
}

TEST_F(RunDirectoryTest, RestartingReplacesFilesOfAKilledStart) {
  RunOptions restart = in("killed");
  restart.restarting_here = true;
  for (const char* left : {"config.yaml", ".env.json.tmp-4711", ".command.txt.tmp-4711",
                           "checkpoints/.last.h5.tmp-4711", "checkpoints/steps/.002.h5.tmp-4711"}) {
    fs::create_directories(folder_ / "killed/checkpoints/steps");  // created while last.h5 was being written
    std::ofstream(folder_ / "killed" / left) << "half";
    EXPECT_NO_THROW(make(restart)) << left;
    EXPECT_EQ(fs::exists(folder_ / "killed" / left), std::string(left) == "config.yaml") << left;
    fs::remove_all(folder_ / "killed");
  }
}

TEST_F(RunDirectoryTest, RestartingReplacesTablesOfItsCallbacks) {
  RunOptions restart = in("killed");
  restart.restarting_here = true;
  fs::create_directories(folder_ / "killed/tables/deep");
  std::ofstream(folder_ / "killed/tables/deep/mine.csv") << "epoch,loss\n";
  EXPECT_THROW(make(restart), Error);
  CSVLoggerSpec logger;
  logger.filename = "tables/deep/mine.csv";
  experiment_.config.callbacks.push_back(experiment::callback_family().make(logger));
  EXPECT_NO_THROW(make(restart));
  std::ofstream(folder_ / "killed/tables/others.csv") << "mine";
  EXPECT_THROW(make(restart), Error);
}

TEST_F(RunDirectoryTest, RestartingReplacesFoldersOfItsCallbacks) {
  RunOptions restart = in("killed");
  restart.restarting_here = true;
  fs::create_directories(folder_ / "killed/logs/train");
  std::ofstream(folder_ / "killed/logs/train/events.out.tfevents.1") << "half";
  EXPECT_THROW(make(restart), Error);
  experiment_.config.callbacks.push_back(experiment::callback_family().make(TensorBoardSpec{}));
  EXPECT_NO_THROW(make(restart));
  std::ofstream(folder_ / "killed/logs.txt") << "mine";
  EXPECT_THROW(make(restart), Error);
}

TEST_F(RunDirectoryTest, RestartingNeverReplacesACheckpoint) {
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

TEST_F(RunDirectoryTest, OverwriteDoesNotFollowLinks) {
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

/// A folder in place of a file simulates a disk that cannot be read.
TEST_F(RunDirectoryTest, DoesNotReplaceUnreadableFiles) {
  RunOptions again = in("run");
  again.resuming_here = true;
  for (const char* name : {"train.csv", "command.txt"}) {
    make(in("run"));
    fs::remove(folder_ / "run" / name);
    fs::create_directories(folder_ / "run" / name);
    try {
      make_run_sinks(make(again), true);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kWrite);
      EXPECT_NE(std::string(error.what()).find("cannot read"), std::string::npos) << error.what();
    }
    fs::remove_all(folder_ / "run");
  }
}

TEST_F(RunDirectoryTest, ReportsUnwritableFilesAtOnce) {
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

TEST_F(RunDirectoryTest, KeepsLinesThatCannotBeWritten) {
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
