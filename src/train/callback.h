#pragma once

// Callbacks run between steps and epochs, with the names, arguments and semantics of Keras
// (docs/reference/numerics.md), on the trainer's thread. save() and restore() must cover their whole state, so that a
// resumed run continues exactly.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/typed.h"
#include "experiment/sections.h"
#include "graph/model.h"
#include "nn/resolved_metric.h"
#include "plot/rgb_image.h"
#include "train/run_sink.h"

namespace dptrain::train {

struct NamedValues {
  std::string name;
  std::vector<float> values;
};

/// The functions of the trainer for callbacks.
class TrainingControl {
 public:
  virtual ~TrainingControl() = default;
  virtual const std::string& run_directory() const = 0;
  /// Returns the writer of a callback's own file in the process that writes, else a silent one.
  virtual std::unique_ptr<RunSink> sink_if_first(std::unique_ptr<RunSink> sink) = 0;
  virtual bool has_validation() const = 0;
  /// Whether validation runs every N steps; validation_end() is then called, and epoch logs have its last values.
  virtual bool validates_by_steps() const = 0;
  /// Whether smaller or larger values are better; kUnknown if neither a metric nor a loss has that name.
  virtual nn::Direction direction_of(const std::string& value) const = 0;
  virtual double learning_rate() const = 0;
  virtual bool has_schedule() const = 0;
  virtual void set_learning_rate(double rate) = 0;
  /// The factor that rollbacks (train.on_nonfinite) apply to each rate; part of learning_rate().
  virtual double rate_factor() const = 0;
  /// Ends training after this step or epoch. The first reason is kept ("early_stopping", "diverged").
  virtual void stop(const std::string& reason) = 0;
  /// Saves the current state to checkpoints/<name> in the background; `weights_only` omits the private state.
  virtual void save(const std::string& name, bool weights_only, const std::string& note) = 0;
  /// Waits for that save. False: the file is absent or an earlier one.
  virtual bool is_saved(const std::string& name) = 0;
  /// Whether the run's folder contains checkpoints/<name>. Collective over all processes.
  virtual bool has_checkpoint(const std::string& name) = 0;
  /// Removes a checkpoint once checkpoints/<successor> is on disk; keeps it if that could not be written.
  virtual void remove_checkpoint(const std::string& name, const std::string& successor) = 0;
  /// The template model with the current weights of the replicas; valid until training continues.
  virtual const graph::Model& pulled_model() = 0;
  virtual void push_weights(const std::vector<std::vector<float>>& weights) = 0;
  /// Gradients of the last step's mean loss, summed over the replicas, before penalties and clipping. Named by weight
  /// ("conv1/kernel"), in the device's order of elements. Requires an empty queue; copies all.
  virtual std::vector<NamedValues> gradients() = 0;
  /// Samples spread evenly over the training data, as training reads them in this epoch (counted from 0). Reads them
  /// again; nothing if the model takes no images or they cannot be read.
  virtual std::optional<plot::RgbImage> sample_sheet(std::int64_t samples, std::int64_t epoch) = 0;
  /// The config as in config.resolved.yaml; `minimal` omits defaults.
  virtual config::Node resolved_config(bool minimal) const = 0;
  virtual std::int64_t steps_per_epoch() const = 0;
  virtual std::int64_t global_batch() const = 0;
  /// Samples consumed after `step` updates, in batches of global_batch(); not `step` after a resume with another batch.
  virtual double batches(std::int64_t step) const = 0;
};

class Callback {
 public:
  virtual ~Callback() = default;
  virtual std::string name() const = 0;
  virtual void train_begin(TrainingControl& /*control*/, bool /*resumed*/) {}
  /// Called before the first step of an epoch (counted from 0), also after a resume.
  virtual void epoch_begin(TrainingControl& /*control*/, std::int64_t /*epoch*/) {}
  /// Whether step_end() of this step (StepReport::step) reads weights or state. Called once, when the step is queued.
  /// If true, no further step is queued before step_end(); otherwise the devices may be some steps ahead of it.
  virtual bool stops_at(TrainingControl& /*control*/, std::int64_t /*step*/) { return false; }
  virtual void step_end(TrainingControl& /*control*/, const StepReport& /*report*/) {}
  /// Called if validation runs every N steps. The checkpoint of that step is written after all callbacks.
  virtual void validation_end(TrainingControl& /*control*/, const ValidationReport& /*report*/) {}
  /// May add to the logs (ReduceLROnPlateau: learning_rate), which later callbacks read.
  virtual void epoch_end(TrainingControl& /*control*/, EpochReport& /*report*/) {}
  virtual void train_end(TrainingControl& /*control*/) {}
  /// Retries failed writes to the callback's own files; false if data is lost.
  virtual bool flush() { return true; }

  /// Distinguishes the states of callbacks of one type. Excludes arguments that a resumed run may change (patience).
  virtual std::string subject() const { return ""; }
  virtual nlohmann::json save() const;
  virtual void restore(const nlohmann::json& /*state*/) {}
  /// Weights stored with the JSON state, one array per Model::weights entry (EarlyStopping); empty: none.
  virtual const std::vector<std::vector<float>>& saved_weights() const;
  virtual void restore_weights(std::vector<std::vector<float>> /*weights*/) {}
};

std::unique_ptr<Callback> make_callback(const experiment::CallbackConfig& config);

}  // namespace dptrain::train
