// The files of a run that ended with an error, and the replay that reproduces it.

#include "train/fault.h"
#include "runtime/arenas.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "core/error.h"
#include "runtime/replica.h"
#include "train/trainer.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

const char* kFaultConfig =
    "dptrain: 1\n"
    "name: tiny\n"
    "model: {layers: [{Input: {shape: [2, 2, 1]}}, Flatten, {Dense: {units: 2, activation: softmax}}]}\n"
    "data: {train: {ImageFolder: {directory: none}}, loader: {shuffle: none}}\n"
    "train: {epochs: 2, batch_size: 2, log_every: 1000, loss: sparse_categorical_crossentropy, optimizer: SGD}\n";

/// Four images in two classes; two steps per epoch.
class Faults : public ::testing::Test {
 protected:
  Faults() : folder_(fs::temp_directory_path() / ("dptrain-faults-" + std::to_string(getpid()))) {
    for (const char* name : {"train/cats/0.pgm", "train/cats/1.pgm", "train/dogs/2.pgm", "train/dogs/3.pgm"})
      write_picture(name, "abcd");
    for (const char* name : {"validation/cats/4.pgm", "validation/dogs/5.pgm"}) write_picture(name, "efgh");
  }
  ~Faults() override { fs::remove_all(folder_); }

  void write_picture(const std::string& name, const std::string& pixels) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << "P5 2 2 255\n" << pixels;
  }

  /// The kind of the error that ends the run.
  ErrorKind fit(int replicas, std::vector<std::string> sets,
                const std::function<void(session::Session&)>& before = {}) {
    for (const char* role : {"train", "validation"})
      sets.push_back(std::string("data.") + role + "={ImageFolder: {directory: " + (folder_ / role).string() +
                     ", color_mode: grayscale}}");
    const experiment::Experiment experiment = experiment::load_experiment_text(kFaultConfig, "tiny.yaml", {sets, {}});
    session::SessionOptions options;
    options.devices = {.replicas = replicas, .threads = 1};
    session::Session session(experiment, options);
    if (before) before(session);
    RunOptions run_options;
    run_options.directory = (folder_ / "run").string();
    run_options.overwrite = true;
    RunDirectory run(experiment, run_options, {});
    Trainer trainer(session, run, {.epochs = {}, .steps = {}, .progress = ProgressMode::kOff});
    try {
      trainer.fit();
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << "no error";
    return ErrorKind::kInternal;
  }

  std::string fault_folder() const { return (folder_ / "run/fault").string(); }

  const fs::path folder_;
};

TEST_F(Faults, ReplaysAnUnreadablePicture) {
  write_picture("train/dogs/3.pgm", "ab");
  ASSERT_EQ(fit(1, {}), ErrorKind::kData);
  const Fault fault = read_fault(fault_folder());
  EXPECT_EQ(fault.error, ErrorKind::kData);
  EXPECT_NE(fault.what.find("3.pgm"), std::string::npos) << fault.what;
  EXPECT_EQ(fault.epoch, 1);
  const Replay again = replay(fault_folder(), {}, {});
  EXPECT_TRUE(again.confirmed()) << again.again.what;

  write_picture("train/dogs/3.pgm", "abcd");
  const Replay mended = replay(fault_folder(), {}, {});
  EXPECT_FALSE(mended.confirmed());
  EXPECT_FALSE(mended.again.error);
}

TEST_F(Faults, ReplaysAnUnreadablePictureOfValidation) {
  write_picture("validation/dogs/5.pgm", "ab");
  ASSERT_EQ(fit(1, {}), ErrorKind::kData);
  const Fault fault = read_fault(fault_folder());
  EXPECT_EQ(fault.step, 3) << "both steps of the epoch had ended";
  EXPECT_TRUE(replay(fault_folder(), {}, {}).confirmed());
}

TEST_F(Faults, DifferentReplicasAreADeviceError) {
  const auto disturb = [](session::Session& session) {
    graph::Model other = session.model();
    session.replicas().pull(other);
    other.weights[0].values[0] += 1;
    session.replicas().on_each([&](int rank, runtime::Replica& replica) {
      if (rank == 1) replica.arenas().push(other);
    });
  };
  ASSERT_EQ(fit(2, {"parallel.check_replicas=1 step"}, disturb), ErrorKind::kDevice);
  const Fault fault = read_fault(fault_folder());
  EXPECT_EQ(fault.error, ErrorKind::kDevice);
  EXPECT_NE(fault.what.find("differ from those of"), std::string::npos) << fault.what;
  EXPECT_FALSE(replay(fault_folder(), {}, {}).again.error) << "it starts from equal weights";
}

TEST(IsReplayable, ExcludesErrorsOfTheEnvironment) {
  EXPECT_FALSE(is_replayable(ErrorKind::kUsage));
  EXPECT_FALSE(is_replayable(ErrorKind::kMemory));
  EXPECT_FALSE(is_replayable(ErrorKind::kWrite));
  EXPECT_TRUE(is_replayable(ErrorKind::kInternal));
  EXPECT_TRUE(is_replayable(ErrorKind::kDeadline));
}

}  // namespace
}  // namespace dptrain::train
