// The state of a run in a checkpoint, apart from the weights, and its restoration.

#include "train/position.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "session/session.h"
#include "train/callback_def.h"
#include "train/callbacks/csv_logger.h"
#include "train/callbacks/early_stopping.h"
#include "train/callbacks/model_checkpoint.h"
#include "train/callbacks/reduce_lr_on_plateau.h"
#include "train/callbacks/time_history.h"

namespace dptrain::train {
namespace {

using nlohmann::json;

const char* kPositionConfig =
    "dptrain: 1\n"
    "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, activation: softmax}}]}\n"
    "data: {train: {Synthetic: {samples: 12, class_names: [a, b, c]}}}\n"
    "train: {epochs: 2, batch_size: 3, loss: sparse_categorical_crossentropy}\n";

class PositionTest : public ::testing::Test {
 protected:
  PositionTest() : session_(experiment::load_experiment_text(kPositionConfig, "net.yaml", {}), options()) {}

  static session::SessionOptions options() {
    session::SessionOptions options;
    options.devices = {.replicas = 1, .threads = 1};
    return options;
  }

  Position restore(const formats::CheckpointState& state, const Callbacks& callbacks = {}) {
    BestValues best;
    return restore_state(state, session_, callbacks, best);
  }
  formats::CheckpointState edited(const std::function<void(json&)>& edit) {
    formats::CheckpointState state = make_state(session_, {}, callbacks_, {});
    json trainer = json::parse(state.trainer);
    edit(trainer);
    state.trainer = trainer.dump();
    return state;
  }

  session::Session session_;
  Callbacks callbacks_;
};

TEST_F(PositionTest, RejectsOtherClassesOrAnotherOrder) {
  formats::CheckpointState state = make_state(session_, {}, callbacks_, {});
  EXPECT_NO_THROW(restore(state));
  state.class_names = {"b", "c", "a"};
  try {
    restore(state);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_NE(std::string(error.what()).find("the classes b, c, a, the data set has a, b, c"), std::string::npos);
  }
}

TEST_F(PositionTest, RejectsAnotherShuffleWithinAnEpoch) {
  const auto at = [&](std::int64_t samples, const char* shuffle) {
    return edited([&](json& trainer) { trainer["samples"] = samples, trainer["shuffle"] = shuffle; });
  };
  EXPECT_NO_THROW(restore(at(3, "full")));
  EXPECT_NO_THROW(restore(at(0, "none"))) << "at the end of an epoch";
  EXPECT_THROW(restore(at(3, "none")), Error);
  EXPECT_NO_THROW(restore(edited([](json& trainer) { trainer["samples"] = 3, trainer.erase("shuffle"); })))
      << "a checkpoint of an earlier version";
}

TEST_F(PositionTest, RollbackDiscardsBestValuesOfLaterSteps) {
  const formats::CheckpointState state = make_state(session_, {}, callbacks_, {{"loss", {0.5, 1}}});
  BestValues best{{"loss", {0.1, 2}}, {"accuracy", {0.9, 2}}};
  restore_state(state, session_, {}, best);
  EXPECT_EQ(best, (BestValues{{"loss", {0.5, 1}}}));
}

TEST_F(PositionTest, CallbacksKeepTheirStateWhenTheListIsEdited) {
  callbacks_.push_back(make_callback(EarlyStoppingSpec{.monitor = "loss", .patience = 5}));
  callbacks_.push_back(make_callback(ModelCheckpointSpec{.filepath = "a-{epoch}.h5"}));
  callbacks_.push_back(make_callback(ModelCheckpointSpec{.filepath = "b-{epoch}.h5"}));
  callbacks_.push_back(make_callback(CSVLoggerSpec{}));
  callbacks_[0]->restore({{"wait", 3}, {"best", 0.5}, {"best_epoch", 1}});
  callbacks_[1]->restore({{"written", {"a-1.h5"}}, {"last_step", 7}});
  callbacks_[2]->restore({{"written", {"b-1.h5"}}, {"last_step", 8}});
  callbacks_[3]->restore({{"columns", {"loss"}}, {"rows", 1}});
  const formats::CheckpointState state = make_state(session_, {}, callbacks_, {});

  Callbacks others;
  others.push_back(make_callback(TimeHistorySpec{}));
  others.push_back(make_callback(ModelCheckpointSpec{.filepath = "new-{epoch}.h5"}));
  others.push_back(make_callback(ModelCheckpointSpec{.filepath = "b-{epoch}.h5", .max_to_keep = 9}));
  others.push_back(make_callback(CSVLoggerSpec{}));
  others.push_back(make_callback(EarlyStoppingSpec{.monitor = "loss", .patience = 50}));
  const json fresh = others[1]->save();
  restore(state, others);
  EXPECT_EQ(others[1]->save(), fresh) << "it must not inherit the files of another";
  EXPECT_EQ(others[2]->save(), callbacks_[2]->save());
  EXPECT_EQ(others[3]->save(), callbacks_[3]->save());
  EXPECT_EQ(others[4]->save(), callbacks_[0]->save());
}

TEST_F(PositionTest, AnEpochContinuesOnlyInItsOrder) {
  const auto with_buckets = [this](std::int64_t samples) {
    return edited([samples](json& trainer) {
      trainer["samples"] = samples;
      trainer["bucket_by_length"] = 5;
    });
  };
  EXPECT_NO_THROW(restore(with_buckets(0)));
  EXPECT_NO_THROW(restore(with_buckets(12)));
  try {
    restore(with_buckets(3));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_STREQ(error.what(),
                 "the checkpoint is at sample 3 of an epoch with batch_size 3 and bucket_by_length 5, and with "
                 "batch_size 3 and bucket_by_length none the order differs; continue with the same, or from the end of "
                 "an epoch; --init-from starts from its weights");
  }
}

TEST_F(PositionTest, RejectsInvalidStates) {
  callbacks_.push_back(make_callback(EarlyStoppingSpec{.monitor = "loss", .restore_best_weights = true}));
  const std::vector<std::function<void(json&)>> edits{[](json& t) { t["callbacks"][0].erase("state"); },
                                                      [](json& t) { t["callbacks"] = 3; },
                                                      [](json& t) { t["callbacks"][0] = "EarlyStopping"; },
                                                      [](json& t) { t["callbacks"][0]["state"] = json::array(); },
                                                      [](json& t) { t["callbacks"][0]["weights"] = true; },
                                                      [](json& t) {
                                                        t["best"] = {{"loss", 3}};
                                                      },
                                                      [](json& t) { t["sums"]["loss"] = nullptr; },
                                                      [](json& t) { t["epoch"] = "one"; },
                                                      [](json& t) { t["epoch"] = -1; },
                                                      [](json& t) { t["step"] = INT64_MAX; },
                                                      [](json& t) { t["sums"]["samples"] = -3; },
                                                      [](json& t) { t["callbacks"][0]["state"]["wait"] = INT64_MAX; }};
  EXPECT_NO_THROW(restore(edited([](json&) {}), callbacks_));
  for (std::size_t i = 0; i < edits.size(); ++i) {
    try {
      restore(edited(edits[i]), callbacks_);
      ADD_FAILURE() << i;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint) << i << ": " << error.what();
    }
  }
  formats::CheckpointState deep = make_state(session_, {}, callbacks_, {});
  deep.trainer = "{\"best\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_THROW(restore(deep, callbacks_), Error);
}

/// Validation may yield values that are not finite, for which JSON has no number.
TEST_F(PositionTest, RestoresNonFiniteValues) {
  callbacks_.push_back(make_callback(EarlyStoppingSpec{.monitor = "val_loss"}));
  callbacks_.push_back(make_callback(ModelCheckpointSpec{}));
  callbacks_.push_back(make_callback(ReduceLROnPlateauSpec{}));
  for (const auto& callback : callbacks_) callback->restore({{"best", nullptr}});
  const double infinite = std::numeric_limits<double>::infinity();
  Position position;
  position.sums.outputs = {infinite};
  position.last_logs.set("loss", 0.5);
  position.last_logs.set("val_loss", infinite);
  BestValues best{{"loss", {0.5, 1}}, {"val_loss", {infinite, 1}}};
  const formats::CheckpointState state = make_state(session_, position, callbacks_, best);
  best.clear();
  const Position back = restore_state(state, session_, callbacks_, best);
  EXPECT_TRUE(std::isnan(*back.last_logs.find("val_loss")));
  EXPECT_EQ(best.size(), 1U);
}

/// The state of one metric must not be used for another.
TEST_F(PositionTest, ResetsSumsOfOtherMetrics) {
  Position position;
  position.sums = {.loss = 3, .outputs = std::vector<double>(session_.plan().sums(), 2.0), .samples = 4};
  BestValues best;
  formats::CheckpointState state = make_state(session_, position, {}, best);
  EXPECT_EQ(restore_state(state, session_, {}, best).sums.outputs, position.sums.outputs);
  auto trainer = nlohmann::json::parse(state.trainer);
  trainer["sums"]["meanings"].push_back("another metric");
  state.trainer = trainer.dump();
  const Position back = restore_state(state, session_, {}, best);
  EXPECT_EQ(back.sums.samples, 0);
  EXPECT_EQ(back.sums.outputs, std::vector<double>(session_.plan().sums(), 0.0));
}

/// A schedule of 4 epochs continues at its middle with any batch size; updates are counted as they were made.
TEST(Progress, FollowsSamplesAfterAChangeOfBatchSize) {
  const auto with_batch = [](int size) {
    session::SessionOptions options;
    options.devices = {.replicas = 1, .threads = 1};
    options.training = true;
    return std::make_unique<session::Session>(
        experiment::load_experiment_text(
            fmt::format("dptrain: 1\n"
                        "model: {{layers: [{{Input: {{shape: [4]}}}}, {{Dense: {{units: 3, activation: softmax}}}}]}}\n"
                        "data: {{train: {{Synthetic: {{samples: 10, class_names: [a, b, c]}}}}}}\n"
                        "train:\n"
                        "  epochs: 4\n"
                        "  batch_size: {}\n"
                        "  loss: sparse_categorical_crossentropy\n"
                        "  optimizer: {{SGD: {{learning_rate: {{CosineDecay: {{initial_learning_rate: 1, "
                        "decay_steps: 4 epochs}}}}}}}}\n",
                        size),
            "net.yaml", {}),
        options);
  };
  const auto small = with_batch(3), large = with_batch(6);
  BestValues best;
  Position position;
  position.sums.outputs.assign(small->plan().sums(), 0.0);
  const auto move_to = [&](std::int64_t epoch, std::int64_t samples, std::int64_t step) {
    position.epoch = epoch, position.samples = samples, position.step = step;
  };
  move_to(2, 0, 8);
  const auto resumed = [&](session::Session& session) {
    return restore_state(make_state(*small, position, {}, best), session, {}, best);
  };
  EXPECT_DOUBLE_EQ(resumed(*small).rate(*small, 8), 0.5);
  const Position at_half = resumed(*large);
  EXPECT_EQ(at_half.iterations(), 8);
  EXPECT_DOUBLE_EQ(at_half.rate(*large, 8), 0.5);
  EXPECT_DOUBLE_EQ(at_half.rate(*large, 12), 0) << "2 epochs of 2 steps later";
  move_to(1, 10, 8);
  EXPECT_DOUBLE_EQ(resumed(*large).rate(*large, 8), 0.5) << "the last batch of an epoch is short";
  move_to(1, 3, 5);
  EXPECT_DOUBLE_EQ(resumed(*large).progress(*large, 5).batches, 2.5);
  // Two epochs before the run (fit --init-optimizer), also from a checkpoint without earlier_epochs.
  move_to(0, 0, 0);
  position.earlier_steps = 8, position.earlier_epochs = 2;
  EXPECT_DOUBLE_EQ(resumed(*large).rate(*large, 0), 0.5);
  formats::CheckpointState old = make_state(*small, position, {}, best);
  json trainer = json::parse(old.trainer);
  trainer.erase("earlier_epochs");
  old.trainer = trainer.dump();
  EXPECT_DOUBLE_EQ(restore_state(old, *large, {}, best).rate(*large, 0), 0.5);
}

TEST_F(PositionTest, RejectsSavedWeightsOfOtherShapes) {
  callbacks_.push_back(make_callback(EarlyStoppingSpec{.monitor = "loss", .restore_best_weights = true}));
  std::vector<std::vector<float>> kept;
  for (const graph::Weight& weight : session_.model().weights)
    kept.emplace_back(static_cast<std::size_t>(weight.def.shape.elements()), 0.5F);
  callbacks_[0]->restore_weights(kept);
  formats::CheckpointState state = make_state(session_, {}, callbacks_, {});
  EXPECT_NO_THROW(restore(state, callbacks_));
  for (formats::NamedArray& array : state.arrays)
    if (array.name.starts_with("callback0/")) array.values.pop_back();
  EXPECT_THROW(restore(state, callbacks_), Error);
}

}  // namespace
}  // namespace dptrain::train
