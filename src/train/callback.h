#pragma once

// Callbacks: what happens between steps and epochs, with Keras's names, arguments and meaning (docs/numerics.md). They
// run on the trainer's thread; whatever they must remember goes through save() and restore(), so that a resumed run
// goes on as if it had never stopped.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/typed.h"
#include "experiment/sections.h"
#include "graph/model.h"
#include "nn/resolved_metric.h"
#include "plot/rgb_image.h"
#include "train/run_sink.h"

namespace dptrain::train {

/// The values of something, by name.
struct NamedValues {
  std::string name;
  std::vector<float> values;
};

/// What a callback may ask of the trainer.
class TrainingControl {
 public:
  virtual ~TrainingControl() = default;
  virtual const std::string& run_directory() const = 0;
  /// The writer of a file of the callback's own: itself in the process that writes for all, else a silent one.
  virtual std::unique_ptr<RunSink> admit(std::unique_ptr<RunSink> sink) = 0;
  virtual bool has_validation() const = 0;
  /// Whether validation comes every so many steps: validation_end() is called then, and an epoch's logs have the values
  /// of its last validation, if it had one.
  virtual bool validates_by_steps() const = 0;
  /// Whether smaller or larger values of that name are better; kUnknown if neither a metric nor a loss has the name.
  virtual nn::Direction direction_of(const std::string& value) const = 0;
  virtual double learning_rate() const = 0;
  virtual bool has_schedule() const = 0;
  virtual void set_learning_rate(double rate) = 0;
  /// Part of learning_rate(): what rollbacks (train.on_nonfinite) multiply each rate by.
  virtual double rate_factor() const = 0;
  /// Ends training after this step or epoch; the first reason stays ("early_stopping", "diverged").
  virtual void stop(const std::string& reason) = 0;
  /// Saves the current state in the background under checkpoints/<name>. `weights_only` leaves the private state out.
  virtual void save(const std::string& name, bool weights_only, const std::string& note) = 0;
  /// Waits for that save; false: the file is the one of before, or none.
  virtual bool is_saved(const std::string& name) = 0;
  /// Whether the run's folder holds checkpoints/<name>. All processes together.
  virtual bool has_checkpoint(const std::string& name) = 0;
  /// As soon as checkpoints/<successor> is on the disk; never if it could not be written.
  virtual void remove_checkpoint(const std::string& name, const std::string& successor) = 0;
  /// The template model with the replicas' current weights; until training goes on.
  virtual const graph::Model& pulled_model() = 0;
  virtual void push_weights(const std::vector<std::vector<float>>& weights) = 0;
  /// Of the mean loss of the last step, summed over the replicas, by weight ("conv1/kernel"), in the device's order of
  /// elements: as backward has left them, before penalties and clipping. With nothing queued. Copies all of them.
  virtual std::vector<NamedValues> gradients() = 0;
  /// So many samples, evenly spread over the training data, as training draws them in this epoch (counted from 0);
  /// nothing where the model takes no images, and where they cannot be read. Reads them anew.
  virtual std::optional<plot::RgbImage> sample_sheet(std::int64_t samples, std::int64_t epoch) = 0;
  /// As config.resolved.yaml has it; `minimal`: only what is not a default.
  virtual config::Node resolved_config(bool minimal) const = 0;
  virtual std::int64_t steps_per_epoch() const = 0;
  virtual std::int64_t global_batch() const = 0;
  /// Samples consumed after `step` updates, in batches of global_batch(). Differs from `step` after a resume with
  /// another batch.
  virtual double batches(std::int64_t step) const = 0;
};

class Callback {
 public:
  virtual ~Callback() = default;
  virtual std::string name() const = 0;
  virtual void train_begin(TrainingControl& control, bool resumed) {
    static_cast<void>(control), static_cast<void>(resumed);
  }
  /// Before the first step of an epoch (counted from 0), resumed or not.
  virtual void epoch_begin(TrainingControl& control, std::int64_t epoch) {
    static_cast<void>(control), static_cast<void>(epoch);
  }
  /// Whether step_end() of this step (StepReport::step) will look at weights or state; asked once, when the step is
  /// queued. No other one is queued before it then; otherwise the devices may be some steps ahead of what step_end()
  /// hears of.
  virtual bool stops_at(TrainingControl& control, std::int64_t step) {
    return static_cast<void>(control), static_cast<void>(step), false;
  }
  virtual void step_end(TrainingControl& control, const StepReport& report) {
    static_cast<void>(control), static_cast<void>(report);
  }
  /// Only where validation comes every so many steps. A checkpoint of that step is written when all have seen it.
  virtual void validation_end(TrainingControl& control, const ValidationReport& report) {
    static_cast<void>(control), static_cast<void>(report);
  }
  /// May add to the logs (ReduceLROnPlateau: learning_rate), seen by the callbacks after it.
  virtual void epoch_end(TrainingControl& control, EpochReport& report) {
    static_cast<void>(control), static_cast<void>(report);
  }
  virtual void train_end(TrainingControl& control) { static_cast<void>(control); }
  /// Once more what could not be written to the callback's own files; false: some of it is lost.
  virtual bool flush() { return true; }

  /// What its state is about, beside its name: of two callbacks of one type each finds its own again when the list is
  /// edited. Arguments that may change from one part of a run to the next (patience) are not in it.
  virtual std::string subject() const { return ""; }
  virtual nlohmann::json save() const;
  virtual void restore(const nlohmann::json& state);
  /// Weights to keep beside the JSON, one array per Model::weights entry (EarlyStopping); empty: none.
  virtual const std::vector<std::vector<float>>& kept_weights() const;
  virtual void restore_weights(std::vector<std::vector<float>> weights);
};

/// By its definition (train/callback_def.h).
std::unique_ptr<Callback> make_callback(const experiment::CallbackConfig& config);

}  // namespace dptrain::train
