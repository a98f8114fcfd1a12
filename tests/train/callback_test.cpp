#include "train/callback.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>

#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace dptrain::train {
namespace {

/// Records what callbacks ask for; the model has one weight whose value tells the epoch.
class FakeHost final : public Host {
 public:
  FakeHost() {
    directory_ = std::filesystem::temp_directory_path() / ("callback_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
    path_ = directory_.string();
    model.graph.layers.push_back({});
    model.weights.push_back({});
    model.weights[0].values = {0};
  }
  ~FakeHost() override { std::filesystem::remove_all(directory_); }

  const std::string& run_directory() const override { return path_; }
  bool has_validation() const override { return validation; }
  double learning_rate() const override { return rate; }
  bool has_schedule() const override { return schedule; }
  void set_learning_rate(double value) override { rate = value; }
  void stop(const std::string& reason) override { stopped = reason; }
  void save(const std::string& name, bool, const std::string&) override {
    saved.push_back(name);
    if (!disk_full) files.insert(name);
  }
  bool is_saved(const std::string& name) override { return files.contains(name); }
  void remove_checkpoint(const std::string& name, const std::string& successor) override {
    if (is_saved(successor)) files.erase(name);
  }
  const graph::Model& pulled_model() override { return model; }
  void push_weights(const std::vector<std::vector<float>>& weights) override { model.weights[0].values = weights[0]; }
  std::int64_t steps_per_epoch() const override { return 10; }
  std::int64_t global_batch() const override { return 4; }

  bool validation = true, schedule = false, disk_full = false;
  double rate = 0.1;
  std::string stopped;
  std::vector<std::string> saved;
  std::set<std::string> files;
  graph::Model model;

 private:
  std::filesystem::path directory_;
  std::string path_;
};

/// Feeds one value of `name` per epoch until stopped; returns the epochs run. The weight holds the epoch's number.
std::int64_t run(Callback& callback, FakeHost& host, const std::string& name, const std::vector<double>& values,
                 std::int64_t first = 0) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    EpochReport report;
    report.epoch = first + static_cast<std::int64_t>(i);
    report.logs.set("loss", 1);
    report.logs.set(name, values[i]);
    report.seconds = report.train_seconds = 1;
    host.model.weights[0].values = {static_cast<float>(report.epoch)};
    callback.epoch_end(host, report);
    if (!host.stopped.empty()) return report.epoch + 1;
  }
  return first + static_cast<std::int64_t>(values.size());
}

TEST(EarlyStopping, StopsAfterPatienceEpochsWithoutImprovement) {
  FakeHost host;
  const auto callback = make_early_stopping({.monitor = "val_loss", .patience = 2});
  EXPECT_EQ(run(*callback, host, "val_loss", {1.0, 0.9, 0.95, 0.91, 0.5}), 4);
  EXPECT_EQ(host.stopped, "early_stopping");
}

TEST(EarlyStopping, NeverStopsInTheFirstEpochAndWatchesAccuracyUpwards) {
  FakeHost host;
  const auto callback = make_early_stopping({.monitor = "val_accuracy", .patience = 0});
  EXPECT_EQ(run(*callback, host, "val_accuracy", {0.5, 0.6, 0.6}), 3);
}

TEST(EarlyStopping, RestoresTheBestWeightsAtTheEndEvenWhenNotStopped) {
  FakeHost host;
  const auto callback = make_early_stopping({.monitor = "val_loss", .patience = 5, .restore_best_weights = true});
  run(*callback, host, "val_loss", {1.0, 0.5, 0.7});
  callback->train_end(host);
  EXPECT_EQ(host.model.weights[0].values[0], 1.0F);
}

TEST(EarlyStopping, WaitIsResetOnlyByAnEpochThatBeatsTheBaseline) {
  FakeHost host;
  const auto callback = make_early_stopping({.monitor = "val_loss", .patience = 3, .baseline = 0.1});
  EXPECT_EQ(run(*callback, host, "val_loss", {1.0, 0.9, 0.8, 0.7, 0.7}), 5)
      << "improvements count as waiting, a standstill then stops";
}

TEST(EarlyStopping, GoesOnFromItsSavedState) {
  FakeHost host, resumed;
  const experiment::EarlyStoppingSpec spec{.monitor = "val_loss", .patience = 2, .restore_best_weights = true};
  const auto before = make_early_stopping(spec), after = make_early_stopping(spec);
  run(*before, host, "val_loss", {1.0, 0.5, 0.6});
  after->restore(nlohmann::json::parse(before->save().dump()));
  after->restore_weights(before->kept_weights());
  EXPECT_EQ(run(*after, resumed, "val_loss", {0.6, 0.4}, 3), 4) << "one more epoch without improvement is the second";
  after->train_end(resumed);
  EXPECT_EQ(resumed.model.weights[0].values[0], 1.0F);
}

TEST(ReduceLROnPlateau, ReducesAfterPatienceThenCoolsDown) {
  FakeHost host;
  const auto callback =
      make_reduce_lr_on_plateau({.monitor = "val_loss", .factor = 0.5, .patience = 2, .cooldown = 1, .min_lr = 0.04});
  run(*callback, host, "val_loss", {1.0, 1.0, 1.0});
  EXPECT_DOUBLE_EQ(host.rate, 0.05);
  run(*callback, host, "val_loss", {1.0});  // ends the cooldown, and is the first to wait
  EXPECT_DOUBLE_EQ(host.rate, 0.05);
  run(*callback, host, "val_loss", {1.0});
  EXPECT_DOUBLE_EQ(host.rate, 0.04) << "not below min_lr";
}

TEST(ReduceLROnPlateau, PutsTheRateIntoTheLogsAndRefusesASchedule) {
  FakeHost host;
  const auto callback = make_reduce_lr_on_plateau({});
  EpochReport report;
  report.logs.set("val_loss", 1);
  callback->epoch_end(host, report);
  ASSERT_NE(report.logs.find("learning_rate"), nullptr);
  host.schedule = true;
  EXPECT_THROW(callback->train_begin(host, false), Error);
}

TEST(ModelCheckpoint, SavesTheBestOnlyAndRemembersItAcrossAResume) {
  FakeHost host;
  const experiment::ModelCheckpointSpec spec{.monitor = "val_accuracy", .save_best_only = true};
  const auto before = make_model_checkpoint(spec), after = make_model_checkpoint(spec);
  before->train_begin(host, false);
  run(*before, host, "val_accuracy", {0.5, 0.4, 0.8, 0.7});
  EXPECT_EQ(host.saved, (std::vector<std::string>{"best.h5", "best.h5"}));
  after->train_begin(host, true);
  after->restore(nlohmann::json::parse(before->save().dump()));
  run(*after, host, "val_accuracy", {0.75}, 4);
  EXPECT_EQ(host.saved.size(), 2U) << "a worse model must not overwrite the best after a resume";
}

TEST(ModelCheckpoint, NamesFilesAsPythonWouldAndKeepsTheLast) {
  FakeHost host;
  const auto callback = make_model_checkpoint({.filepath = "oct-{epoch:02d}-{val_loss:.2f}.h5", .max_to_keep = 2});
  callback->train_begin(host, false);
  run(*callback, host, "val_loss", {0.5, 0.25, 0.125});
  EXPECT_EQ(host.saved, (std::vector<std::string>{"oct-01-0.50.h5", "oct-02-0.25.h5", "oct-03-0.12.h5"}));
  EXPECT_EQ(host.files, (std::set<std::string>{"oct-02-0.25.h5", "oct-03-0.12.h5"}));
}

TEST(ModelCheckpoint, AStateNamesNoFileOutsideOfTheRun) {
  const auto callback = make_model_checkpoint({});
  for (const char* file : {"/etc/passwd", "../../other.h5", "notes.txt", ""})
    EXPECT_THROW(callback->restore({{"written", {file}}}), Error) << file;
  EXPECT_NO_THROW(callback->restore({{"written", {"sub/a.h5"}}}));
}

TEST(ModelCheckpoint, WhatCouldNotBeWrittenReplacesNothing) {
  FakeHost host;
  const auto callback = make_model_checkpoint({.filepath = "n-{epoch}.h5", .max_to_keep = 2});
  callback->train_begin(host, false);
  run(*callback, host, "val_loss", {1, 1});
  host.disk_full = true;
  run(*callback, host, "val_loss", {1, 1, 1}, 2);
  EXPECT_EQ(host.files, (std::set<std::string>{"n-1.h5", "n-2.h5"}));
  host.disk_full = false;
  run(*callback, host, "val_loss", {1}, 5);
  EXPECT_EQ(host.files, (std::set<std::string>{"n-2.h5", "n-6.h5"})) << "the two that are there";
}

TEST(ModelCheckpoint, TheBestIsWhatWasWritten) {
  FakeHost host;
  const auto callback = make_model_checkpoint({.monitor = "val_loss", .save_best_only = true});
  callback->train_begin(host, false);
  host.disk_full = true;
  run(*callback, host, "val_loss", {0.5});
  host.disk_full = false;
  run(*callback, host, "val_loss", {0.7}, 1);
  EXPECT_EQ(host.saved.size(), 2U) << "0.5 is nowhere";
  EXPECT_TRUE(host.files.contains("best.h5"));
}

TEST(ModelCheckpoint, SaveFreqCountsBatchesAcrossEpochs) {
  FakeHost host;
  const auto callback = make_model_checkpoint(
      {.filepath = "b-{batch}.h5", .save_freq = config::Duration{7, config::Duration::Unit::kBare}, .max_to_keep = 9});
  callback->train_begin(host, false);
  // Asked when a step is queued, told when its loss has come; devices are two steps ahead unless it stops them.
  std::vector<std::int64_t> stops;
  std::int64_t told = 0;
  const auto tell = [&] { ++told, callback->step_end(host, {told, (told - 1) / 10, (told - 1) % 10 + 1, 1.0}); };
  for (std::int64_t step = 1; step <= 20; ++step) {
    const bool stop = callback->stops_at(host, step);
    if (stop) stops.push_back(step);
    while (told < (stop ? step : step - 2)) tell();
  }
  EXPECT_EQ(stops, (std::vector<std::int64_t>{7, 14}));
  EXPECT_EQ(host.saved, (std::vector<std::string>{"b-7.h5", "b-4.h5"}));
}

TEST(ModelCheckpoint, UnknownNameInTheFilepathListsWhatThereIs) {
  experiment::Logs logs;
  logs.set("loss", 1);
  try {
    format_filepath("{val_acc:.2f}.h5", 1, 0, logs);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "ModelCheckpoint: filepath '{val_acc:.2f}.h5': there is no 'val_acc'; there are epoch, loss");
  }
}

TEST(CsvLogger, WritesKerasFormat) {
  FakeHost host;
  const auto callback = make_csv_logger({});
  callback->train_begin(host, false);
  run(*callback, host, "accuracy", {0.5, 0.75});
  std::ifstream file(host.run_directory() + "/log.csv", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, "epoch,accuracy,loss,val_accuracy,val_loss\r\n0,0.5,1,NA,NA\r\n1,0.75,1,NA,NA\r\n");
}

TEST(TerminateOnNaN, StopsAtTheFirstLossThatIsNotANumber) {
  FakeHost host;
  const auto callback = make_terminate_on_nan();
  callback->step_end(host, {1, 0, 1, 0.5});
  EXPECT_EQ(host.stopped, "");
  callback->step_end(host, {2, 0, 2, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(host.stopped, "diverged");
}

TEST(Monitor, DirectionFollowsTheName) {
  for (const char* up : {"accuracy", "val_acc", "top_k_categorical_accuracy", "auc", "mean_iou", "val_mean_io_u",
                         "val_f1_score", "kind_precision", "val_recall", "r2_score"})
    EXPECT_TRUE(wants_max(experiment::MonitorMode::kAuto, up)) << up;
  for (const char* down : {"loss", "val_loss", "mse", "root_mean_squared_error"})
    EXPECT_FALSE(wants_max(experiment::MonitorMode::kAuto, down)) << down;
  EXPECT_TRUE(wants_max(experiment::MonitorMode::kMax, "loss"));
}

}  // namespace
}  // namespace dptrain::train
