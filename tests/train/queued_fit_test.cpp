// The training loop on asynchronous devices: no waiting between log lines, the results of the CPU, a stop at the
// failing step, and saves of the requested step.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "backend/emu/emu_runtime.h"
#include "formats/checkpoint/checkpoint.h"
#include "train/trainer.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

const char* kQueuedFitConfig =
    "dptrain: 1\n"
    "name: tiny\n"
    "model: {layers: [{Input: {shape: [4, 3, 2]}}, {Conv2D: {filters: 3, kernel_size: 2, activation: relu}}, Flatten, "
    "{Dense: {units: 3, activation: softmax, kernel_regularizer: {L2: 0.01}}}]}\n"
    "data:\n"
    "  train: {Synthetic: {samples: 60}}\n"
    "train: {epochs: 1, batch_size: 3, log_every: 1000, loss: categorical_crossentropy, metrics: [accuracy], "
    "optimizer: {SGD: {learning_rate: 0.05}}}\n";

class QueuedFit : public ::testing::Test {
 protected:
  QueuedFit() : folder_(fs::temp_directory_path() / ("dptrain-queued-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~QueuedFit() override { fs::remove_all(folder_); }

  struct Outcome {
    FitResult result;
    std::vector<std::string> step_rows;
    backend::emu::HostWaits waits;
    std::size_t template_values = 0;  ///< values in the session's model after the run
  };

  Outcome fit(const std::vector<std::string>& sets, bool emulated = true, std::optional<std::int64_t> steps = {}) {
    const experiment::Experiment experiment =
        experiment::load_experiment_text(kQueuedFitConfig, "tiny.yaml", {sets, {}});
    session::SessionOptions options;
    options.devices = emulated ? session::request_of({{backend::DeviceKind::kEmu, 0}})
                               : session::DeviceRequest{.replicas = 1, .threads = 1};
    session::Session session(experiment, options);
    RunOptions run_options;
    run_options.directory = (folder_ / std::to_string(runs_++)).string();
    RunDirectory run(experiment, run_options, {"a", "b", "c"});
    path_ = run.path();
    Trainer trainer(session, run, {.epochs = {}, .steps = steps, .progress = ProgressMode::kOff});
    const backend::emu::HostWaits before = backend::emu::host_waits();
    Outcome o{.result = trainer.fit(), .step_rows = {}, .waits = backend::emu::host_waits()};
    for (const graph::Weight& weight : session.model().weights) o.template_values += weight.values.size();
    o.waits.streams -= before.streams;
    std::ifstream rows(run.file("steps.csv"));
    for (std::string line; std::getline(rows, line);) o.step_rows.push_back(line);
    return o;
  }

  fs::path folder_, path_;
  int runs_ = 0;
};

TEST_F(QueuedFit, WaitsDoNotGrowWithSteps) {
  const Outcome few = fit({"data.train.Synthetic.samples=30"}), many = fit({"data.train.Synthetic.samples=120"});
  EXPECT_EQ(few.waits.streams, many.waits.streams) << "saves at both ends of the run, and none in 30 steps more";
  EXPECT_GT(few.waits.streams, 0U);
}

TEST_F(QueuedFit, WaitsOfEvaluationDoNotGrowWithBatches) {
  const std::vector<std::string> few{"data.validation={Synthetic: {samples: 6}}"},
      many{"data.validation={Synthetic: {samples: 60}}"};
  const Outcome two = fit(few), twenty = fit(many), cpu = fit(many, false);
  EXPECT_EQ(two.waits.streams, twenty.waits.streams);
  for (const char* name : {"val_loss", "val_accuracy"}) {
    const double *on_gpu = twenty.result.final.find(name), *on_cpu = cpu.result.final.find(name);
    ASSERT_TRUE(on_gpu != nullptr && on_cpu != nullptr) << name;
    EXPECT_NEAR(*on_gpu, *on_cpu, 1e-4) << name;
  }
}

TEST_F(QueuedFit, KeepsTheWeightsOnTheReplicas) {
  for (const bool emulated : {false, true})
    EXPECT_EQ(fit({"callbacks=[ModelCheckpoint]"}, emulated).template_values, 0U)
        << "a second copy of all weights would last from the start or the first save to the end";
}

TEST_F(QueuedFit, LogsEveryStepAsTheCpuDoes) {
  const Outcome emulated = fit({"train.log_every=1", "runtime.tf32=false"}), cpu = fit({"train.log_every=1"}, false);
  ASSERT_EQ(emulated.step_rows.size(), 21U);
  ASSERT_EQ(cpu.step_rows.size(), 21U);
  for (std::size_t i = 1; i < cpu.step_rows.size(); ++i) {
    long step = 0, epoch = 0, other_step = 0;
    double loss = 0, expected = 0;
    ASSERT_EQ(std::sscanf(cpu.step_rows[i].c_str(), "%ld,%ld,%lf", &step, &epoch, &expected), 3) << cpu.step_rows[i];
    ASSERT_EQ(std::sscanf(emulated.step_rows[i].c_str(), "%ld,%ld,%lf", &other_step, &epoch, &loss), 3);
    EXPECT_EQ(step, other_step);
    EXPECT_NEAR(loss, expected, 1e-4 * expected);
  }
}

TEST_F(QueuedFit, StopsAtTheStepWithANaNLoss) {
  const Outcome o = fit({"train.optimizer={SGD: {learning_rate: 1e30}}", "callbacks=[TerminateOnNaN]"});
  const Outcome cpu = fit({"train.optimizer={SGD: {learning_rate: 1e30}}", "callbacks=[TerminateOnNaN]"}, false);
  EXPECT_EQ(o.result.exit, "diverged");
  EXPECT_EQ(o.result.exit_code, 6);
  EXPECT_EQ(o.step_rows.back().substr(0, 2), cpu.step_rows.back().substr(0, 2)) << "the same step";
}

TEST_F(QueuedFit, SavesTheRequestedStep) {
  fit({"callbacks=[{ModelCheckpoint: {save_freq: 5, filepath: 's{batch:02d}.h5', max_to_keep: 9}}]"});
  for (const char* name : {"s05.h5", "s10.h5", "s15.h5", "s20.h5"})
    EXPECT_TRUE(fs::exists(path_ / "checkpoints" / name)) << name;
  const std::string saved = (path_ / "checkpoints/s10.h5").string();
  fit({}, true, 10);
  const std::string last = (path_ / "checkpoints/last.h5").string();
  const formats::FileDifference difference = formats::compare_files(saved, last, 0);
  EXPECT_TRUE(difference.equal) << "the devices ran on before step 10 was read:\n" << difference.report;
  fit({}, true, 11);
  EXPECT_FALSE(formats::compare_files(saved, (path_ / "checkpoints/last.h5").string(), 0).equal);
}

}  // namespace
}  // namespace dptrain::train
