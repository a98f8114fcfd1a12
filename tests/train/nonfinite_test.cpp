// Steps and weights that are not finite: end of a run, its files, and its continuation (train.on_nonfinite). On CPUs
// and emulated GPUs, with one replica and three.

#include "train/nonfinite_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "formats/checkpoint/checkpoint.h"
#include "support/sanitizer.h"
#include "train/fault.h"
#include "train/trainer.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

/// Twelve rows of two numbers and a target; the inputs are in x.idx.
const char* kNonfiniteConfig =
    "dptrain: 1\n"
    "name: tiny\n"
    "model: {layers: [{Input: {shape: [2]}}, {Dense: {units: 3, activation: tanh}}, {Dense: {units: 1}}]}\n"
    "data:\n"
    "  train: {IDX: {inputs: x.idx, labels: y.idx}}\n"
    "  loader: {shuffle: none}\n"
    "train: {epochs: 2, batch_size: 3, log_every: 1000, loss: mse, optimizer: {SGD: {learning_rate: 0.05}}}\n";

/// A loss of 4e6 whose gradient by the first weight is 1e40 times as large.
const char* kSteep =
    "model.layers=[{Input: {shape: [2]}}, {Dense: {units: 1, kernel_initializer: {Constant: 1e-36}}}, "
    "{Dense: {units: 1, kernel_initializer: {Constant: 1e30}}}, {Dense: {units: 1, kernel_initializer: {Constant: "
    "1e9}}}]";

void write_idx(const fs::path& path, const std::vector<std::uint32_t>& dims, const std::vector<float>& values) {
  std::ofstream file(path, std::ios::binary);
  const auto word = [&](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(value >> shift));
  };
  word(0x0D00U + static_cast<std::uint32_t>(dims.size()));
  for (const std::uint32_t dim : dims) word(dim);
  for (const float value : values) word(std::bit_cast<std::uint32_t>(value));
}

struct Place {
  const char* name;
  session::DeviceRequest devices;
};

std::vector<Place> all_places() {
  using backend::DeviceKind;
  return {{"cpu", {.replicas = 1, .threads = 1}},
          {"3 cpus", {.replicas = 3, .threads = 1}},
          {"emu", session::request_of({{DeviceKind::kEmu, 0}})},
          {"3 emus", session::request_of({{DeviceKind::kEmu, 0}, {DeviceKind::kEmu, 1}, {DeviceKind::kEmu, 2}})}};
}

/// Under ThreadSanitizer only the place with several CPU threads, since the emulator takes minutes.
std::vector<Place> places() {
  if (test::kThreadSanitizer) return {all_places()[1]};
  return all_places();
}

class Nonfinite : public ::testing::Test {
 protected:
  Nonfinite() : folder_(fs::temp_directory_path() / ("dptrain-nonfinite-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    write_data();
  }
  ~Nonfinite() override { fs::remove_all(folder_); }

  /// `bad`: a row whose input is `value`.
  void write_data(int bad = -1, float value = std::numeric_limits<float>::quiet_NaN()) {
    std::vector<float> x, y;
    for (int i = 0; i < 12; ++i) {
      x.push_back(i == bad ? value : 0.1F * static_cast<float>(i));
      x.push_back(1 - 0.05F * static_cast<float>(i));
      y.push_back(0.3F * static_cast<float>(i % 4));
    }
    write_idx(folder_ / "x.idx", {12, 2}, x);
    write_idx(folder_ / "y.idx", {12, 1}, y);
  }

  /// Trains in a new folder; `resume` is a checkpoint to continue from.
  FitResult fit(const Place& place, std::vector<std::string> sets, const std::string& run_name = "",
                const std::string& resume = "") {
    sets.push_back("data.train={IDX: {inputs: " + (folder_ / "x.idx").string() +
                   ", labels: " + (folder_ / "y.idx").string() + "}}");
    const experiment::Experiment experiment =
        experiment::load_experiment_text(kNonfiniteConfig, "tiny.yaml", {sets, {}});
    session::SessionOptions options;
    options.devices = place.devices;
    session::Session session(experiment, options);
    RunOptions run_options;
    run_options.directory = (folder_ / (run_name.empty() ? std::to_string(runs_++) : run_name)).string();
    RunDirectory run(experiment, run_options, {});
    path_ = run.path();
    Trainer trainer(session, run, {.epochs = {}, .steps = {}, .progress = ProgressMode::kOff});
    if (!resume.empty()) {
      formats::load_weights(resume, session.model());
      session.replicas().push(session.model());
      trainer.resume(formats::read_state(resume));
    }
    const FitResult result = trainer.fit();
    std::ifstream file(run.file("result.json"));
    written_ = nlohmann::json::parse(file);
    return result;
  }

  graph::Model weights_of(const std::string& checkpoint) const {
    const experiment::Experiment experiment = experiment::load_experiment_text(kNonfiniteConfig, "tiny.yaml", {});
    graph::Model model = graph::undrawn_model(experiment.graph, experiment.config.seed);
    formats::load_weights((path_ / "checkpoints" / checkpoint).string(), model);
    return model;
  }

  graph::Model weights_of_fault() const {
    const std::string file = (path_ / "fault/state.h5").string();
    const experiment::Experiment experiment =
        experiment::load_experiment_text(formats::read_state(file).resolved_config, "fault", {});
    graph::Model model = graph::undrawn_model(experiment.graph, experiment.config.seed);
    formats::load_weights(file, model);
    return model;
  }

  const fs::path folder_;
  fs::path path_;
  nlohmann::json written_;
  int runs_ = 0;
};

TEST_F(Nonfinite, ANaNLossEndsTheRun) {
  write_data(7);  // in the third step
  for (const Place& place : places()) {
    SCOPED_TRACE(place.name);
    const FitResult result = fit(place, {});
    EXPECT_EQ(result.exit, "diverged");
    EXPECT_EQ(result.exit_code, 6);
    EXPECT_EQ(result.reason, "the loss of step 3 is nan");
    EXPECT_EQ(written_["exit"], "diverged");
    EXPECT_EQ(written_["reason"], result.reason);
    EXPECT_EQ(written_["steps"], 2);
    EXPECT_FALSE(fs::exists(path_ / "model.h5"));
    EXPECT_TRUE(all_finite(weights_of("last.h5")));
  }
}

TEST_F(Nonfinite, NonFiniteGradientsEndTheRun) {
  for (const Place& place : places()) {
    SCOPED_TRACE(place.name);
    const FitResult result = fit(place, {kSteep});
    EXPECT_EQ(result.exit_code, 6);
    EXPECT_NE(result.reason.find("gradients of step 1 are not finite, its loss is "), std::string::npos)
        << result.reason;
    EXPECT_FALSE(fs::exists(path_ / "model.h5"));
  }
}

/// After the last step of an epoch, no loss has been computed from the weights.
TEST_F(Nonfinite, DoesNotSaveNonFiniteWeights) {
  for (const Place& place : places()) {
    SCOPED_TRACE(place.name);
    const FitResult result = fit(place, {"train.optimizer={SGD: {learning_rate: 3e38}}", "train.batch_size=12",
                                         "callbacks=[{ModelCheckpoint: {filepath: e.h5}}]"});
    EXPECT_EQ(result.exit_code, 6);
    EXPECT_EQ(result.reason, "weights after step 1 are not finite");
    EXPECT_TRUE(all_finite(weights_of("last.h5")));
    EXPECT_FALSE(fs::exists(path_ / "checkpoints/e.h5"));
    EXPECT_FALSE(fs::exists(path_ / "model.h5"));
  }
}

TEST_F(Nonfinite, SkipStepContinuesWithoutTheUpdate) {
  write_data(7);
  for (const Place& place : places()) {
    SCOPED_TRACE(place.name);
    const FitResult result = fit(place, {"train.on_nonfinite=skip_step"});
    EXPECT_EQ(result.exit, "completed");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(written_["skipped_steps"], 2) << "one in each epoch";
    EXPECT_TRUE(std::isfinite(*result.final.find("loss")));
    EXPECT_TRUE(all_finite(weights_of("last.h5")));
    EXPECT_TRUE(fs::exists(path_ / "model.h5"));
    EXPECT_EQ(fit(place, {"train.on_nonfinite={skip_step: {at_most: 1}}"}).exit_code, 6);
    EXPECT_EQ(written_["skipped_steps"], 1);
  }
}

/// A loss that is not finite counts even with loss scaling, which skips steps on its own.
TEST_F(Nonfinite, DetectsNonFiniteLossInMixedPrecision) {
  for (const std::size_t place : {std::size_t{2}, std::size_t{3}}) {
    SCOPED_TRACE(all_places()[place].name);
    write_data(7);
    EXPECT_EQ(fit(all_places()[place], {"train.dtype_policy=mixed_float16"}).reason, "the loss of step 3 is nan");
    EXPECT_EQ(fit(all_places()[place], {"train.dtype_policy=mixed_float16", "train.on_nonfinite=skip_step"}).exit_code,
              0);
    EXPECT_EQ(written_["skipped_steps"], 2);
    EXPECT_TRUE(all_finite(weights_of("last.h5")));
  }
}

/// A skipped step does not affect the weights: two runs differ only in the skipped batch.
TEST_F(Nonfinite, ASkippedStepDoesNotChangeWeights) {
  for (const Place& place : places()) {
    SCOPED_TRACE(place.name);
    write_data(7);
    fit(place, {"train.on_nonfinite=skip_step", "train.optimizer=Adam"});
    const graph::Model nan = weights_of("last.h5");
    write_data(8, std::numeric_limits<float>::infinity());
    fit(place, {"train.on_nonfinite=skip_step", "train.optimizer=Adam"});
    const graph::Model infinite = weights_of("last.h5");
    for (std::size_t w = 0; w < nan.weights.size(); ++w)
      EXPECT_EQ(nan.weights[w].values, infinite.weights[w].values) << w;
  }
}

TEST_F(Nonfinite, RollbackRestoresWeightsAndReducesTheRate) {
  for (const Place& place : places()) {
    SCOPED_TRACE(place.name);
    const std::string steep = "train.optimizer={SGD: {learning_rate: 1e30}}";
    const FitResult result = fit(place, {steep, "train.on_nonfinite={rollback: {factor: 1e-32}}"});
    EXPECT_EQ(result.exit, "completed");
    EXPECT_EQ(written_["rollbacks"], 1);
    EXPECT_EQ(written_["steps"], 8);
    EXPECT_TRUE(all_finite(weights_of("last.h5")));
    EXPECT_EQ(
        nlohmann::json::parse(formats::read_state((path_ / "checkpoints/last.h5").string()).trainer)["rate_factor"],
        1e-32);

    const std::string twice = "train.on_nonfinite={rollback: {factor: 0.9, at_most: 2}}";
    EXPECT_EQ(fit(place, {steep, twice}).exit_code, 6);
    EXPECT_EQ(written_["rollbacks"], 2);
    EXPECT_EQ(fit(place, {steep, twice}, "", (path_ / "checkpoints/last.h5").string()).exit_code, 6);
    EXPECT_EQ(written_["rollbacks"], 2) << "a restarted run has no new budget";
  }
}

TEST_F(Nonfinite, LimitsRollbacksOfTheWholeRun) {
  const Place place = places().front();
  write_data(7);
  const std::string once = "train.on_nonfinite={skip_step: {at_most: 1}}";
  EXPECT_EQ(fit(place, {once, "train.epochs=1"}).exit, "completed");
  EXPECT_EQ(written_["skipped_steps"], 1);
  EXPECT_EQ(fit(place, {once}, "", (path_ / "checkpoints/last.h5").string()).exit_code, 6);
  EXPECT_EQ(written_["skipped_steps"], 1);
}

TEST_F(Nonfinite, RollbackWorksWithAScheduler) {
  const Place place = places().front();
  const std::string steep = "callbacks=[{LearningRateScheduler: '1e30'}]";
  EXPECT_EQ(fit(place, {steep, "train.on_nonfinite={rollback: {factor: 1e-32, at_most: 2}}"}).exit, "completed");
  EXPECT_EQ(written_["rollbacks"], 1);
}

TEST_F(Nonfinite, RollbackWorksInTheFirstEpochInAnotherFolder) {
  const Place place = places().front();
  EXPECT_EQ(fit(place, {"train.epochs=1"}, "old").exit, "completed");
  const std::string last = (path_ / "checkpoints/last.h5").string();
  const std::string steep = "callbacks=[{LearningRateScheduler: '1e30'}]";
  EXPECT_EQ(fit(place, {steep, "train.on_nonfinite={rollback: {factor: 1e-32, at_most: 2}}"}, "new", last).exit,
            "completed");
  EXPECT_EQ(written_["rollbacks"], 1);
  EXPECT_EQ(written_["epochs"], 2);
}

/// One row of the data makes a layer's values infinite, forward or backward. The fault must name that layer, the sample
/// and its line. Ten layers, each in three steps and replicas.
TEST_F(Nonfinite, FindsAndReplaysTheFirstLayer) {
  struct Case {
    const char* layers;
    float value;
    const char *layer, *what;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  const char* plain = "{Dense: {units: 2}}, {Dense: {units: 1}}";
  const std::vector<Case> cases{
      {plain, kNan, "input_layer", "input"},
      {plain, -kInfinity, "input_layer", "input"},
      {"{Dense: {units: 1, kernel_initializer: {Constant: -1}}}, {LeakyReLU: {negative_slope: 1e10}}", 1e30F,
       "leaky_re_lu", "output"},
      {"{Rescaling: {scale: 1e10}}, {Dense: {units: 2}}, {Dense: {units: 1}}", 1e30F, "rescaling", "output"},
      {"{Dense: {units: 2}}, {Rescaling: {scale: 1e10}}, {Dense: {units: 1}}", 1e30F, "rescaling", "output"},
      {"{Dense: {units: 2}}, {Dense: {units: 1}}, {Rescaling: {scale: 1e10}}", 1e30F, "rescaling", "output"},
      {"{Dense: {units: 3, activation: relu, kernel_initializer: {Constant: 1e10}}}, {Dense: {units: 1}}", 1e30F,
       "dense", "output"},
      {"{Dense: {units: 2}}, {Dense: {units: 3, kernel_initializer: {Constant: 1e10}}}, {Dense: {units: 1}}", 1e30F,
       "dense_1", "output"},
      {"{Dense: {units: 1, use_bias: false, kernel_initializer: {Constant: 1e-25}}}, "
       "{Dense: {units: 1, use_bias: false, kernel_initializer: {Constant: 1e3}}}, "
       "{Dense: {units: 1, use_bias: false, kernel_initializer: {Constant: 1e3}}}",
       1e30F, "dense", "gradient of kernel"},
      {"{Dense: {units: 1, use_bias: false, kernel_initializer: {Constant: 1}}}, {Rescaling: {scale: 1e-27}}, "
       "{Rescaling: {scale: 1e-27}}, {Rescaling: {scale: 1e17}}, {Rescaling: {scale: 1e17}}",
       1e30F, "rescaling_2", "gradient of its input"}};
  for (const Place& place : places())
    for (const Case& c : cases)
      for (const int row : {1, 5, 9}) {  // first, second and fourth step; second, third and first replica
        SCOPED_TRACE(fmt::format("{}: {} in row {}", place.name, c.layers, row));
        write_data(row, c.value);
        const FitResult result = fit(place, {fmt::format("model.layers=[{{Input: {{shape: [2]}}}}, {}]", c.layers),
                                             "train.optimizer={SGD: {learning_rate: 1e-37}}"});
        ASSERT_EQ(result.exit_code, 6);
        const std::string folder = (path_ / "fault").string();
        const Fault fault = read_fault(folder);
        EXPECT_EQ(fault.step, row / 3 + 1);
        ASSERT_TRUE(fault.first);
        EXPECT_EQ(fault.first->what, c.what);
        EXPECT_EQ(fault.first->layer, c.layer);
        EXPECT_NE(fault.place, "");
        if (std::string(c.what) != "gradient of kernel") {
          ASSERT_EQ(fault.first->row, row % 3);
          EXPECT_EQ(fault.samples[static_cast<std::size_t>(row % 3)].first, row);
          EXPECT_NE(describe(fault).find(fmt::format("y.idx, item {}", row)), std::string::npos) << describe(fault);
        }
        EXPECT_TRUE(all_finite(weights_of_fault()));
        EXPECT_FALSE(fs::exists(path_ / "model.h5"));
        const Replay again = replay(folder, {}, {});
        EXPECT_TRUE(again.confirmed()) << describe(again.again);
        EXPECT_TRUE(again.same_bits);
      }
}

TEST_F(Nonfinite, ReplayElsewhereAndWithAnotherSetting) {
  write_data(7, 1e30F);
  const std::string layers = "model.layers=[{Input: {shape: [2]}}, {Rescaling: {scale: 1e10}}, {Dense: {units: 1}}]";
  ASSERT_EQ(fit(all_places()[1], {layers, "train.optimizer={SGD: {learning_rate: 1e-30}}"}).exit_code, 6);
  const std::string folder = (path_ / "fault").string();
  EXPECT_TRUE(replay(folder, all_places()[2].devices, {}).confirmed());
  const Replay mended = replay(folder, {}, {{"model.layers.1.Rescaling.scale=1e-30"}, {}});
  EXPECT_TRUE(mended.finite);
  write_data();
  EXPECT_TRUE(replay(folder, {}, {}).finite) << "the sample was mended";
  fs::remove(path_ / "fault/fault.json");
  EXPECT_THROW(replay(folder, {}, {}), Error);
}

TEST_F(Nonfinite, RejectsTerminateOnNaNWithSkipping) {
  try {
    experiment::load_experiment_text(kNonfiniteConfig, "tiny.yaml",
                                     {{"callbacks=[TerminateOnNaN]", "train.on_nonfinite=skip_step"}, {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("TerminateOnNaN stops where train.on_nonfinite: skip_step continues"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace dptrain::train
