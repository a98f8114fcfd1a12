#pragma once

// Control: implements TrainingControl with the parts of the trainer. Owned by the trainer, on its thread.

#include <memory>
#include <string>
#include <vector>

#include "nn/optimizer.h"
#include "session/sample_images.h"
#include "session/session.h"
#include "train/callback.h"
#include "train/checkpoint_manager.h"
#include "train/run.h"

namespace dptrain::train {

class Control final : public TrainingControl {
 public:
  Control(Run& run, CheckpointManager& checkpoints) : run_(run), checkpoints_(checkpoints) {}

  const std::string& run_directory() const override { return run_.directory.path(); }
  std::unique_ptr<RunSink> sink_if_first(std::unique_ptr<RunSink> sink) override {
    return silent_unless_first(run_.world, std::move(sink));
  }
  bool has_validation() const override { return run_.session.validation_loader() != nullptr; }
  bool validates_by_steps() const override { return run_.validation_steps() > 0; }
  nn::Direction direction_of(const std::string& value) const override {
    return experiment::direction_of(run_.logged, value);
  }
  double learning_rate() const override { return run_.learning_rate(); }
  bool has_schedule() const override {
    return nn::common(run_.session.experiment().config.train.optimizer).learning_rate.is_schedule();
  }
  void set_learning_rate(double rate) override { run_.position.learning_rate = rate / run_.position.rate_factor; }
  double rate_factor() const override { return run_.position.rate_factor; }
  void stop(const std::string& reason) override { run_.stop(reason); }
  void save(const std::string& name, bool weights_only, const std::string& note) override {
    checkpoints_.save(name, weights_only, note);
  }
  bool is_saved(const std::string& name) override { return checkpoints_.is_saved(name); }
  bool has_checkpoint(const std::string& name) override;
  void remove_checkpoint(const std::string& name, const std::string& successor) override {
    checkpoints_.remove(name, successor);
  }
  const graph::Model& pulled_model() override { return *checkpoints_.snapshot(); }
  void push_weights(const std::vector<std::vector<float>>& weights) override { checkpoints_.push_weights(weights); }
  std::vector<NamedValues> gradients() override;
  std::optional<plot::RgbImage> sample_sheet(std::int64_t samples, std::int64_t epoch) override;
  config::Node resolved_config(bool minimal) const override {
    return experiment::resolved(run_.session.experiment(), minimal);
  }
  std::int64_t steps_per_epoch() const override { return run_.session.steps_per_epoch(); }
  std::int64_t global_batch() const override { return run_.session.global_batch(); }
  double batches(std::int64_t step) const override {
    return run_.position.batches(run_.session) + static_cast<double>(step - run_.position.step);
  }

 private:
  Run& run_;
  std::unique_ptr<session::SampleReader> samples_;  ///< null until first used
  CheckpointManager& checkpoints_;
};

}  // namespace dptrain::train
