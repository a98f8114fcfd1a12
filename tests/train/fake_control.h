#pragma once

#include <unistd.h>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "train/callback_def.h"

namespace dptrain::train {

/// A trainer for tests of callbacks. Records their requests; the model's only weight has the number of the epoch.
class FakeControl final : public TrainingControl {
 public:
  FakeControl() {
    directory_ = std::filesystem::temp_directory_path() / ("callback_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
    path_ = directory_.string();
    model.graph.layers.push_back({});
    model.weights.push_back({});
    model.weights[0].values = {0};
  }
  ~FakeControl() override { std::filesystem::remove_all(directory_); }

  const std::string& run_directory() const override { return path_; }
  std::unique_ptr<RunSink> sink_if_first(std::unique_ptr<RunSink> sink) override {
    return silent ? std::make_unique<RunSink>() : std::move(sink);
  }
  bool has_validation() const override { return validation; }
  nn::Direction direction_of(const std::string& value) const override {
    if (value.ends_with("loss")) return nn::Direction::kSmaller;
    return value.ends_with("accuracy") ? nn::Direction::kLarger : nn::Direction::kUnknown;
  }
  double learning_rate() const override { return rate; }
  bool validates_by_steps() const override { return by_steps; }
  bool has_schedule() const override { return schedule; }
  void set_learning_rate(double value) override { rate = value; }
  double rate_factor() const override { return factor; }
  void stop(const std::string& reason) override { stopped = reason; }
  void save(const std::string& name, bool, const std::string&) override {
    saved.push_back(name);
    if (!disk_full) files.insert(name);
  }
  bool is_saved(const std::string& name) override { return files.contains(name); }
  bool has_checkpoint(const std::string& name) override { return files.contains(name); }
  void remove_checkpoint(const std::string& name, const std::string& successor) override {
    if (is_saved(successor)) files.erase(name);
  }
  const graph::Model& pulled_model() override { return model; }
  void push_weights(const std::vector<std::vector<float>>& weights) override { model.weights[0].values = weights[0]; }
  std::vector<NamedValues> gradients() override { return {{"layer/kernel", {-1, 1}}}; }
  std::optional<plot::RgbImage> sample_sheet(std::int64_t samples, std::int64_t) override {
    return plot::RgbImage(1, samples);
  }
  config::Node resolved_config(bool) const override { return config; }
  std::int64_t steps_per_epoch() const override { return per_epoch; }
  double batches(std::int64_t step) const override { return batches_before + static_cast<double>(step); }
  std::int64_t global_batch() const override { return 4; }

  bool validation = true, by_steps = false, silent = false, schedule = false, disk_full = false;
  double rate = 0.1, factor = 1;
  std::int64_t per_epoch = 10;
  double batches_before = 0;  ///< differs from updates after a resume with another batch size
  std::string stopped;
  std::vector<std::string> saved;
  std::set<std::string> files;
  graph::Model model;
  config::Node config;

 private:
  std::filesystem::path directory_;
  std::string path_;
};

/// Feeds one value of `name` per epoch until stopped; returns the epochs run. The weight holds the epoch's number.
inline std::int64_t run(Callback& callback, FakeControl& control, const std::string& name,
                        const std::vector<double>& values, std::int64_t first = 0) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    EpochReport report;
    report.epoch = first + static_cast<std::int64_t>(i);
    report.logs.set("loss", 1);
    report.logs.set(name, values[i]);
    report.seconds = report.train_seconds = 1;
    control.model.weights[0].values = {static_cast<float>(report.epoch)};
    callback.epoch_end(control, report);
    if (!control.stopped.empty()) return report.epoch + 1;
  }
  return first + static_cast<std::int64_t>(values.size());
}

/// Feeds one value of `name` per validation, every 5 steps, until stopped; returns the validations. The weight holds
/// the number of the step.
inline std::int64_t run_validations(Callback& callback, FakeControl& control, const std::string& name,
                                    const std::vector<double>& values) {
  control.by_steps = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ValidationReport report;
    report.step = 5 * static_cast<std::int64_t>(i + 1);
    report.epoch = (report.step - 1) / 10;
    report.batch = (report.step - 1) % 10 + 1;
    report.logs.set("loss", 1);
    report.logs.set(name, values[i]);
    control.model.weights[0].values = {static_cast<float>(report.step)};
    callback.validation_end(control, report);
    if (!control.stopped.empty()) return static_cast<std::int64_t>(i) + 1;
  }
  return static_cast<std::int64_t>(values.size());
}

}  // namespace dptrain::train
