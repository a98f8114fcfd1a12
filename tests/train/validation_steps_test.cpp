// train.validate_every in steps: when validation runs, its effect on callbacks and files, and exact continuation of a
// run that was stopped or killed around it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/checkpoint/weights.h"
#include "train/line_file.h"
#include "train/trainer.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

/// Ten steps per epoch, validation after steps 7, 14 and 21.
const char* kValidatedConfig =
    "dptrain: 1\n"
    "name: tiny\n"
    "model: {layers: [{Input: {shape: [6]}}, {Dense: {units: 5, activation: relu}}, {Dropout: 0.2}, "
    "{Dense: {units: 3, activation: softmax}}]}\n"
    "data: {train: {Synthetic: {samples: 30}}, validation: {Synthetic: {samples: 7, seed: 3}}}\n"
    "train: {epochs: 3, batch_size: 3, log_every: 4, validate_every: 7 steps, loss: categorical_crossentropy, "
    "metrics: [accuracy], optimizer: {SGD: {learning_rate: 0.05, momentum: 0.9}}}\n";

class ValidationSteps : public ::testing::TestWithParam<bool> {
 protected:
  ValidationSteps() : folder_(fs::temp_directory_path() / ("dptrain-validated-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~ValidationSteps() override { fs::remove_all(folder_); }

  /// Trains in `folder_ / name`; `from` is a checkpoint there to continue from.
  FitResult fit(const std::string& name, const std::vector<std::string>& sets, const std::string& from = "",
                std::optional<std::int64_t> steps = {}) {
    const experiment::Experiment experiment =
        experiment::load_experiment_text(kValidatedConfig, "tiny.yaml", {sets, {}});
    session::SessionOptions options;
    options.devices = GetParam() ? session::request_of({{backend::DeviceKind::kEmu, 0}, {backend::DeviceKind::kEmu, 0}})
                                 : session::DeviceRequest{.replicas = 2, .threads = 1};
    session::Session session(experiment, options);
    RunOptions run_options;
    run_options.directory = (folder_ / name).string();
    run_options.resuming_here = !from.empty();
    const std::string file = (folder_ / name / "checkpoints" / from).string();
    if (!from.empty()) {
      formats::load_weights(file, session.model());
      session.replicas().push(session.model());
    }
    RunDirectory run(experiment, run_options, {});
    Trainer trainer(session, run, {.epochs = {}, .steps = steps, .progress = ProgressMode::kOff});
    if (!from.empty()) trainer.resume(formats::read_state(file));
    return trainer.fit();
  }

  /// The rows of a table without the columns that contain times.
  std::vector<std::string> values(const std::string& file) const {
    std::vector<std::string> rows;
    std::vector<bool> kept;
    for (const std::string& line : LineFile::read((folder_ / file).string())) {
      std::vector<std::string> fields = split(line, ','), left;
      if (kept.empty())
        for (const std::string& name : fields)
          kept.push_back(name != "examples_per_second" && name != "seconds" && !name.ends_with("_ms"));
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (kept[i]) left.push_back(fields[i]);
      rows.push_back(join(left, ","));
    }
    return rows;
  }

  std::vector<std::int64_t> validated_steps(const std::string& name) const {
    std::vector<std::int64_t> steps;
    for (const std::string& line : LineFile::read((folder_ / name / "events.jsonl").string()))
      if (const auto event = nlohmann::json::parse(line); event["ev"] == "validation")
        steps.push_back(event["step"].get<std::int64_t>());
    return steps;
  }

  void expect_equal_runs(const std::string& a, const std::string& b) const {
    EXPECT_EQ(values(a + "/train.csv"), values(b + "/train.csv"));
    const formats::FileDifference difference = formats::compare_files(
        (folder_ / a / "checkpoints/last.h5").string(), (folder_ / b / "checkpoints/last.h5").string(), 0);
    EXPECT_TRUE(difference.equal) << difference.report;
    const auto best = [&](const std::string& name) {
      return nlohmann::json::parse(read_text((folder_ / name / "result.json").string()))["best"];
    };
    EXPECT_EQ(best(a), best(b));
  }

  fs::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Devices, ValidationSteps, ::testing::Bool(),
                         [](const auto& place) { return place.param ? "Emulator" : "Cpu"; });

TEST_P(ValidationSteps, WritesOneRowForAnEpochShorterThanLogEvery) {
  fit("short", {"train.log_every=12"});
  std::vector<std::string> steps;
  for (const std::string& row : values("short/steps.csv")) steps.push_back(row.substr(0, row.find(',')));
  EXPECT_EQ(steps, (std::vector<std::string>{"step", "10", "20", "30"}));
}

TEST_P(ValidationSteps, FollowEveryNthStepOfTheRun) {
  fit("run", {});
  EXPECT_EQ(validated_steps("run"), (std::vector<std::int64_t>{7, 14, 21, 28}));
  const std::vector<std::string> rows = values("run/train.csv");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0], "epoch,loss,accuracy,val_loss,val_accuracy,lr");
  for (std::size_t row = 1; row < 4; ++row) EXPECT_EQ(rows[row].find(",,"), std::string::npos) << rows[row];
  fit("seldom", {"train.validate_every=25 steps"});
  EXPECT_NE(values("seldom/train.csv")[1].find(",,"), std::string::npos) << "the first epoch had no validation";
  EXPECT_EQ(values("seldom/train.csv")[3].find(",,"), std::string::npos);
}

TEST_P(ValidationSteps, DoNotChangeTraining) {
  fit("often", {"train.validate_every=3 steps"});
  fit("never", {"train.validate_every=1000 steps"});
  const formats::FileDifference difference = formats::compare_files(
      (folder_ / "often/checkpoints/last.h5").string(), (folder_ / "never/checkpoints/last.h5").string(), 0);
  EXPECT_TRUE(difference.equal) << difference.report;
}

TEST_P(ValidationSteps, ARunContinuesFromAnyStepNearOne) {
  // Saves before the validation of the same step, as does a run that a signal stops within it.
  const std::vector<std::string> saving{
      "callbacks=[{ModelCheckpoint: {save_freq: 7, filepath: 's{batch}.h5', max_to_keep: 9}}, "
      "{ReduceLROnPlateau: {monitor: val_loss, factor: 0.5, patience: 1, min_delta: 1}}, "
      "{EarlyStopping: {monitor: val_accuracy, patience: 9, restore_best_weights: true}}, CSVLogger]"};
  fit("whole", saving);
  EXPECT_EQ(validated_steps("whole"), (std::vector<std::int64_t>{7, 14, 21, 28}));
  EXPECT_EQ(values("whole/steps.csv").back().find(",0.05"), std::string::npos) << "the rate was never reduced";
  for (const std::int64_t stop : {7, 8, 13, 14, 15, 20}) {
    const std::string name = "stopped-" + std::to_string(stop);
    fit(name, saving, "", stop);
    fit(name, saving, "last.h5");
    expect_equal_runs("whole", name);
    if (stop == 8 || stop == 14) {  // an interval ends there; other stops split an interval
      EXPECT_EQ(values("whole/steps.csv"), values(name + "/steps.csv")) << name;
    }
    EXPECT_EQ(validated_steps(name), (std::vector<std::int64_t>{7, 14, 21, 28})) << name;
    EXPECT_EQ(read_text((folder_ / name / "log.csv").string()), read_text((folder_ / "whole/log.csv").string()));
  }
  fit("killed", saving, "", 17);
  fit("killed", saving, "s4.h5");  // the checkpoint of step 14; later lines must be removed
  expect_equal_runs("whole", "killed");
  EXPECT_EQ(values("whole/steps.csv"), values("killed/steps.csv"));
  EXPECT_EQ(validated_steps("killed"), (std::vector<std::int64_t>{7, 14, 14, 21, 28})) << "events stay";
}

TEST_P(ValidationSteps, StopEarlyInTheMiddleOfAnEpoch) {
  const FitResult result =
      fit("run",
          {"callbacks=[{EarlyStopping: {monitor: val_loss, min_delta: 1000, patience: 2}}, {ModelCheckpoint: {monitor: "
           "val_loss, save_best_only: true, filepath: 'b{epoch}-{batch}.h5'}}]"});
  EXPECT_EQ(result.exit, "early_stopping");
  EXPECT_EQ(validated_steps("run"), (std::vector<std::int64_t>{7, 14, 21}));
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints/b1-7.h5"));
  ASSERT_NE(result.final.find("val_loss"), nullptr);
}

}  // namespace
}  // namespace dptrain::train
