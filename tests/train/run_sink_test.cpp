// The growing files of a run: their contents, and what a resumed run removes.

#include "train/run_sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "experiment/experiment.h"
#include "train/line_file.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

class RunSinkTest : public ::testing::Test {
 protected:
  RunSinkTest() : folder_(fs::temp_directory_path() / ("dptrain-sinks-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    open(false);
  }
  ~RunSinkTest() override {
    run_.reset();
    fs::remove_all(folder_);
  }

  /// Starts or resumes a run.
  void open(bool resuming) {
    sinks_.reset();
    run_.reset();
    const experiment::Experiment experiment = experiment::load_experiment_text(
        "dptrain: 1\n"
        "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, activation: softmax}}]}\n"
        "data: {train: {Synthetic: {samples: 12}}, validation: {Synthetic: {samples: 6}}}\n"
        "train: {epochs: 2, batch_size: 3, loss: categorical_crossentropy, metrics: [accuracy]}\n",
        "tiny.yaml", {});
    RunOptions options;
    options.directory = folder_.string();
    options.resuming_here = resuming;
    run_.emplace(experiment, options, std::vector<std::string>{});
    sinks_ = make_run_sinks(*run_, true);
  }

  static EpochReport epoch(std::int64_t from_1, double loss, double accuracy, bool validated = true,
                           double seconds = 1) {
    EpochReport report;
    report.epoch = from_1 - 1;
    report.logs.set("loss", loss);
    report.logs.set("accuracy", accuracy);
    if (validated) {
      report.logs.set("val_loss", loss + 1);
      report.logs.set("val_accuracy", accuracy / 2);
    }
    report.learning_rate = 1e-3;
    report.samples = 20;
    report.train_seconds = 2;
    report.seconds = seconds;
    return report;
  }
  static IntervalReport interval(std::int64_t step, std::int64_t epoch, double loss) {
    IntervalReport report;
    report.last.step = step;
    report.last.epoch = epoch;
    report.loss = loss;
    return report;
  }

  std::string text(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
  }

  static constexpr const char* kEpochHeader =
      "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n";

  fs::path folder_;
  std::optional<RunDirectory> run_;
  std::unique_ptr<RunSink> sinks_;
};

TEST_F(RunSinkTest, TrainCsvHasTheStableHeader) {
  EpochReport first = epoch(1, 0.5, 0.25, true, 2.0);
  first.samples = 2469;
  first.logs.set("learning_rate", 0.1);  // a callback's value; the column is the rate of the last update
  sinks_->epoch(first);
  sinks_->epoch(epoch(2, 1.0 / 3, 0.75, true, 2.5));
  EXPECT_EQ(text("train.csv"), std::string(kEpochHeader) +
                                   "1,0.5,0.25,1.5,0.125,0.001,1234.5,2\n"
                                   "2,0.333333333,0.75,1.33333333,0.375,0.001,10,2.5\n");
}

TEST_F(RunSinkTest, EpochsWithoutValidationHaveEmptyFields) {
  sinks_->epoch(epoch(1, 0.5, 0.25, false));
  sinks_->epoch(epoch(2, 0.5, 0.25));
  EXPECT_EQ(text("train.csv"),
            std::string(kEpochHeader) + "1,0.5,0.25,,,0.001,10,1\n2,0.5,0.25,1.5,0.125,0.001,10,1\n");
}

TEST_F(RunSinkTest, ReplacesTheRowOfAPartialEpoch) {
  sinks_->epoch(epoch(1, 0.5, 0.5));
  EpochReport part = epoch(2, 0.4, 0.5, false, 0.5);
  part.whole = false;
  sinks_->epoch(part);
  open(true);
  sinks_->epoch(epoch(2, 0.25, 0.5));
  EXPECT_EQ(text("train.csv"),
            std::string(kEpochHeader) + "1,0.5,0.5,1.5,0.25,0.001,10,1\n2,0.25,0.5,1.25,0.25,0.001,10,1\n");
  EXPECT_EQ(LineFile::read(run_->file("events.jsonl")).size(), 2U) << "only whole epochs are events";
}

TEST_F(RunSinkTest, RemovesRowsAfterTheRestoredState) {
  for (const int e : {1, 2, 3}) sinks_->epoch(epoch(e, 1.0 / e, 0.5));
  for (const std::int64_t step : {4, 8, 12}) sinks_->step(interval(step, step / 4 - 1, 0.5));
  std::ofstream(folder_ / "train.csv", std::ios::app) << "4,0.1";  // torn: killed while writing
  std::ofstream(folder_ / "events.jsonl", std::ios::app) << "{\"t\":1,\"ev\"";
  open(true);
  sinks_->cut(1, 8);
  EXPECT_EQ(text("train.csv"), std::string(kEpochHeader) + "1,1,0.5,2,0.25,0.001,10,1\n");
  EXPECT_EQ(text("steps.csv"),
            "step,epoch,loss,lr,examples_per_second,step_ms,data_wait_ms,comm_exposed_ms\n4,1,0.5,0,0,0,0,0\n8,2,0.5,0,"
            "0,0,0,0\n");
  EXPECT_EQ(LineFile::read(run_->file("events.jsonl")).size(), 6U) << "what happened stays";
  sinks_->epoch(epoch(2, 0.5, 0.5));
  EXPECT_EQ(LineFile::read(run_->file("train.csv")).size(), 3U);
}

TEST_F(RunSinkTest, DrawsCurvesAtTheFirstEpochAndAtTheEnd) {
  sinks_->epoch(epoch(1, 0.5, 0.5));
  const std::string first = text("curves.svg");
  EXPECT_NE(first.find("best 1.5000, epoch 1"), std::string::npos);
  sinks_->epoch(epoch(2, 0.25, 0.5));
  EXPECT_EQ(text("curves.svg"), first) << "not so soon again";
  sinks_->end({});
  EXPECT_NE(text("curves.svg").find("best 1.2500, epoch 2"), std::string::npos);
}

TEST_F(RunSinkTest, DrawsAtTheEndAfterAKillWhileDrawing) {
  sinks_->epoch(epoch(1, 0.5, 0.5));
  const std::string drawn = text("curves.svg");
  fs::rename(folder_ / "curves.svg", folder_ / ".curves.svg.tmp-4711");
  open(true);
  sinks_->end({});
  EXPECT_EQ(text("curves.svg"), drawn);
  EXPECT_FALSE(fs::exists(folder_ / ".curves.svg.tmp-4711"));
}

TEST_F(RunSinkTest, DrawsNoCurvesWithoutAnEpoch) {
  testing::internal::CaptureStderr();
  sinks_->end({});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(fs::exists(folder_ / "curves.svg"));
}

TEST_F(RunSinkTest, ContinuesIfCurvesCannotBeWritten) {
  fs::create_directories(folder_ / "curves.svg" / "in the way");
  testing::internal::CaptureStderr();
  sinks_->epoch(epoch(1, 0.5, 0.5));
  sinks_->end({});
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_NE(warnings.find("cannot write curves.svg; training continues"), std::string::npos) << warnings;
  EXPECT_EQ(LineFile::read(run_->file("train.csv")).size(), 2U);
}

TEST_F(RunSinkTest, EventsAreJsonLines) {
  sinks_->event("save", {{"file", "last.h5"}, {"step", 7}});
  const std::vector<std::string> lines = LineFile::read(run_->file("events.jsonl"));
  ASSERT_EQ(lines.size(), 1U);
  const auto line = nlohmann::json::parse(lines.front());
  EXPECT_GT(line["t"].get<double>(), 1.6e9);
  EXPECT_EQ(line["ev"], "save");
  EXPECT_EQ(line["file"], "last.h5");
  EXPECT_EQ(line["step"], 7);
}

TEST_F(RunSinkTest, RetriesPendingLines) {
  fs::create_directory(folder_ / "steps.csv");
  sinks_->step(interval(1, 0, 0.5));
  EXPECT_FALSE(sinks_->flush());
  fs::remove(folder_ / "steps.csv");
  EXPECT_TRUE(sinks_->flush());
  EXPECT_EQ(LineFile::read(run_->file("steps.csv")).size(), 2U) << "with its header";
}

TEST_F(RunSinkTest, ListsABadFileOnce) {
  const data::BadSample bad{.file = "a,b.jpg", .byte = 12, .reason = "ends early"};
  sinks_->bad_sample(bad);
  open(true);
  sinks_->cut(0, 0);
  sinks_->bad_sample(bad);
  EXPECT_EQ(text("data-errors.csv"), "file,byte,message\n\"a,b.jpg\",12,ends early\n");
}

TEST_F(RunSinkTest, WritesAResultAndAnEventAtTheEnd) {
  EndReport report;
  report.result.exit = "diverged";
  report.result.reason = "the loss of step 3 is nan";
  report.epochs = 2;
  report.best["loss"] = {0.5, 1};
  report.best["val_loss"] = {0.75, 2};
  sinks_->end(report);
  const auto result = nlohmann::json::parse(text("result.json"));
  EXPECT_EQ(result["exit"], "diverged");
  EXPECT_EQ(result["reason"], "the loss of step 3 is nan");
  EXPECT_EQ(result["best"]["epoch"], 2) << "of val_loss";
  EXPECT_FALSE(result["checkpoints"].contains("best")) << "there is no best.h5";
  EXPECT_EQ(nlohmann::json::parse(LineFile::read(run_->file("events.jsonl")).back())["ev"], "end");
}

TEST_F(RunSinkTest, OneProcessWrites) {
  World world = World::single_process(2);
  world.processes = 2;
  silent_unless_first(world, make_run_sinks(*run_, true))->step(interval(1, 0, 0.5));
  world.process = 1;
  const auto silent = silent_unless_first(world, make_run_sinks(*run_, true));
  silent->step(interval(2, 0, 0.5));
  silent->epoch(epoch(1, 0.5, 0.5));
  silent->end({});
  EXPECT_TRUE(silent->flush());
  EXPECT_EQ(LineFile::read(run_->file("steps.csv")).size(), 2U) << "the header and the first process's row";
  EXPECT_FALSE(fs::exists(folder_ / "train.csv"));
  EXPECT_FALSE(fs::exists(folder_ / "result.json"));
}

}  // namespace
}  // namespace dptrain::train
