#include "train/callbacks/model_checkpoint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/fake_control.h"

namespace dptrain::train {
namespace {

TEST(ModelCheckpoint, SavesOnlyTheBestAndKeepsItAcrossAResume) {
  FakeControl control;
  const ModelCheckpointSpec spec{.monitor = "val_accuracy", .save_best_only = true};
  const auto before = make_callback(spec), after = make_callback(spec);
  before->train_begin(control, false);
  run(*before, control, "val_accuracy", {0.5, 0.4, 0.8, 0.7});
  EXPECT_EQ(control.saved, (std::vector<std::string>{"best.h5", "best.h5"}));
  after->train_begin(control, true);
  after->restore(nlohmann::json::parse(before->save().dump()));
  run(*after, control, "val_accuracy", {0.75}, 4);
  EXPECT_EQ(control.saved.size(), 2U) << "a worse model must not overwrite the best after a resume";
}

TEST(ModelCheckpoint, IgnoresEpochsWithoutTheValue) {
  FakeControl control;
  const auto callback = make_callback(ModelCheckpointSpec{.monitor = "val_loss", .save_best_only = true});
  callback->train_begin(control, false);
  run(*callback, control, "val_loss", {1});
  run(*callback, control, "loss", {0.1, 0.1}, 1);
  EXPECT_EQ(control.saved, std::vector<std::string>{"best.h5"});
}

TEST(ModelCheckpoint, ARunContinuedInAnotherFolderHasNoBestYet) {
  FakeControl control, other;
  const ModelCheckpointSpec spec{.monitor = "val_loss", .save_best_only = true};
  const auto before = make_callback(spec), after = make_callback(spec);
  before->train_begin(control, false);
  run(*before, control, "val_loss", {0.5});
  after->restore(nlohmann::json::parse(before->save().dump()));
  after->train_begin(other, true);
  run(*after, other, "val_loss", {0.7}, 1);
  EXPECT_EQ(other.saved, std::vector<std::string>{"best.h5"});
}

TEST(ModelCheckpoint, FormatsNamesAsPythonAndKeepsTheLast) {
  FakeControl control;
  const auto callback =
      make_callback(ModelCheckpointSpec{.filepath = "oct-{epoch:02d}-{val_loss:.2f}.h5", .max_to_keep = 2});
  callback->train_begin(control, false);
  run(*callback, control, "val_loss", {0.5, 0.25, 0.125});
  EXPECT_EQ(control.saved, (std::vector<std::string>{"oct-01-0.50.h5", "oct-02-0.25.h5", "oct-03-0.12.h5"}));
  EXPECT_EQ(control.files, (std::set<std::string>{"oct-02-0.25.h5", "oct-03-0.12.h5"}));
}

TEST(ModelCheckpoint, RejectsAStateWithFilesOutsideTheRun) {
  const auto callback = make_callback(ModelCheckpointSpec{});
  for (const char* file : {"/etc/passwd", "../../other.h5", "notes.txt", ""})
    EXPECT_THROW(callback->restore({{"written", {file}}}), Error) << file;
  EXPECT_NO_THROW(callback->restore({{"written", {"sub/a.h5"}}}));
}

TEST(ModelCheckpoint, AFailedWriteKeepsOlderFiles) {
  FakeControl control;
  const auto callback = make_callback(ModelCheckpointSpec{.filepath = "n-{epoch}.h5", .max_to_keep = 2});
  callback->train_begin(control, false);
  run(*callback, control, "val_loss", {1, 1});
  control.disk_full = true;
  run(*callback, control, "val_loss", {1, 1, 1}, 2);
  EXPECT_EQ(control.files, (std::set<std::string>{"n-1.h5", "n-2.h5"}));
  control.disk_full = false;
  run(*callback, control, "val_loss", {1}, 5);
  EXPECT_EQ(control.files, (std::set<std::string>{"n-2.h5", "n-6.h5"})) << "the two that are there";
}

TEST(ModelCheckpoint, IgnoresBestValuesThatWereNotWritten) {
  FakeControl control;
  const auto callback = make_callback(ModelCheckpointSpec{.monitor = "val_loss", .save_best_only = true});
  callback->train_begin(control, false);
  control.disk_full = true;
  run(*callback, control, "val_loss", {0.5});
  control.disk_full = false;
  run(*callback, control, "val_loss", {0.7}, 1);
  EXPECT_EQ(control.saved.size(), 2U) << "0.5 is nowhere";
  EXPECT_TRUE(control.files.contains("best.h5"));
}

TEST(ModelCheckpoint, SaveFreqCountsBatchesAcrossEpochs) {
  FakeControl control;
  const auto callback = make_callback(ModelCheckpointSpec{
      .filepath = "b-{batch}.h5", .save_freq = config::Duration{7, config::Duration::Unit::kBare}, .max_to_keep = 9});
  callback->train_begin(control, false);
  // stops_at() is called when a step is queued, step_end() when its loss arrives: two steps later unless it stops
  // there.
  std::vector<std::int64_t> stops;
  std::int64_t told = 0;
  const auto tell = [&] { ++told, callback->step_end(control, {told, (told - 1) / 10, (told - 1) % 10 + 1, 1.0}); };
  for (std::int64_t step = 1; step <= 20; ++step) {
    const bool stop = callback->stops_at(control, step);
    if (stop) stops.push_back(step);
    while (told < (stop ? step : step - 2)) tell();
  }
  EXPECT_EQ(stops, (std::vector<std::int64_t>{7, 14}));
  EXPECT_EQ(control.saved, (std::vector<std::string>{"b-7.h5", "b-4.h5"}));
}

/// One epoch of 10 steps, then a resume in the middle of the second with twice the batch size.
TEST(ModelCheckpoint, SaveFreqInEpochsFollowsSamplesAcrossAnotherBatch) {
  const ModelCheckpointSpec spec{.save_freq = config::Duration{1, config::Duration::Unit::kEpochs}};
  const auto stops = [](Callback& callback, FakeControl& control, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> all;
    for (std::int64_t step = first; step <= last; ++step)
      if (callback.stops_at(control, step)) all.push_back(step);
    return all;
  };
  FakeControl before, after;
  const auto first = make_callback(spec), second = make_callback(spec);
  first->train_begin(before, false);
  EXPECT_EQ(stops(*first, before, 1, 16), std::vector<std::int64_t>{10});
  after.per_epoch = 5;
  after.batches_before = -8;
  second->restore(nlohmann::json::parse(first->save().dump()));
  second->train_begin(after, true);
  EXPECT_EQ(stops(*second, after, 17, 25), (std::vector<std::int64_t>{18, 23})) << "the ends of epochs 2 and 3";
}

TEST(ModelCheckpoint, UnknownNameInTheFilepathListsTheNames) {
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

TEST(ModelCheckpoint, SavesTheBestValidationBySteps) {
  FakeControl control;
  const auto callback = make_callback(ModelCheckpointSpec{
      .filepath = "b{epoch}-{batch}-{val_loss:.1f}.h5", .monitor = "val_loss", .save_best_only = true});
  callback->train_begin(control, false);
  run_validations(*callback, control, "val_loss", {0.5, 0.6, 0.4});
  run(*callback, control, "val_loss", {0.1});
  EXPECT_EQ(control.saved, (std::vector<std::string>{"b1-5-0.5.h5", "b2-5-0.4.h5"}));
}

TEST(ModelCheckpoint, SavesEveryEpochIndependentOfValidations) {
  FakeControl control;
  const auto callback = make_callback(ModelCheckpointSpec{});
  callback->train_begin(control, false);
  run_validations(*callback, control, "val_loss", {0.5, 0.6});
  EXPECT_TRUE(control.saved.empty());
  run(*callback, control, "val_loss", {0.1});
  EXPECT_EQ(control.saved, std::vector<std::string>{"epoch-01.h5"});
}

}  // namespace
}  // namespace dptrain::train
