// The loss scale (mixed_float16) at the end of a run and after a resume, on the emulator.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "experiment/experiment.h"
#include "session/session.h"
#include "train/position.h"

namespace dptrain::train {
namespace {

experiment::Experiment tiny(const std::vector<std::string>& sets = {}) {
  return experiment::load_experiment_text(
      "dptrain: 1\n"
      "name: tiny\n"
      "model: {layers: [Input: {shape: [7, 5, 3]}, Conv2D: {filters: 5, kernel_size: 3, activation: relu}, "
      "BatchNormalization, Flatten, Dense: {units: 3, activation: softmax}]}\n"
      "data: {train: {Synthetic: {samples: 33}}}\n"
      "train: {epochs: 1, batch_size: 11, loss: categorical_crossentropy, optimizer: {SGD: {learning_rate: 0.05, "
      "momentum: 0.9}}}\n",
      "tiny.yaml", {sets, {}});
}

session::SessionOptions on_emulators(const std::vector<int>& ids) {
  std::vector<session::GpuId> gpus;
  for (const int id : ids) gpus.push_back({backend::DeviceKind::kEmu, id});
  session::SessionOptions options;
  options.devices = session::request_of(gpus);
  options.wants_validation = false;
  return options;
}

/// Runs `count` steps from the session's train loader and returns their losses.
std::vector<double> losses_of(session::Session& session, std::int64_t from, std::int64_t count) {
  std::vector<double> losses;
  for (std::int64_t step = from; step < from + count; ++step) {
    session.train_loader().seek(step / 3, step % 3 * 11);
    const data::Batch batch = session.train_loader().next();
    losses.push_back(session.replicas().step(batch.view(), {step, 0.05, batch.rows()}).loss);
  }
  return losses;
}

TEST(LossScale, AResumedRunKeepsTheLossScale) {
  const auto half = tiny({"train.dtype_policy=mixed_float16"});
  session::Session first(half, on_emulators({0, 1}));
  kernels::LossScale scale;
  scale.scale = 1024;
  scale.good_steps = 1998;  // doubles after two more
  scale.skipped = 3;
  first.replicas().push_loss_scale(scale);
  losses_of(first, 0, 1);
  first.replicas().pull(first.model());
  BestValues best;
  Position position;
  position.sums.outputs.clear();
  const formats::CheckpointState state = make_state(first, position, {}, best);

  session::Session second(half, on_emulators({0, 1}));
  second.model().weights = first.model().weights;
  second.replicas().push(second.model());
  restore_state(state, second, {}, best);
  ASSERT_TRUE(second.replicas().pull_loss_scale());
  EXPECT_EQ(second.replicas().pull_loss_scale()->scale, 1024);
  EXPECT_EQ(second.replicas().pull_loss_scale()->good_steps, 1999);
  EXPECT_EQ(second.replicas().pull_loss_scale()->skipped, 3);
  EXPECT_EQ(losses_of(first, 1, 2), losses_of(second, 1, 2));
  EXPECT_EQ(first.replicas().pull_loss_scale()->scale, 2048);
  EXPECT_EQ(second.replicas().pull_loss_scale()->scale, 2048);

  session::Session full(tiny(), on_emulators({0}));
  EXPECT_EQ(full.replicas().pull_loss_scale()->scale, 1);
  EXPECT_FALSE(nlohmann::json::parse(make_state(full, position, {}, best).trainer).contains("loss_scale"));
  restore_state(state, full, {}, best);  // a resumed run may use another policy
}

}  // namespace
}  // namespace dptrain::train
