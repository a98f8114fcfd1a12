#pragma once

// Session: an experiment ready to run: the template model, the plan, devices with their replicas, and loaders. Used by
// fit, eval, predict, bench and verify. Made and used on the main thread. Records phases with their times for the log.
//
//   Session session(experiment, {.devices = request_of({GpuId{}})});
//   const data::Batch batch = session.train_loader().next();
//   const auto sums = session.replicas().step(batch.view(), {.learning_rate = 0.01, .global_samples = batch.rows()});

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "experiment/experiment.h"
#include "formats/checkpoint/weights.h"
#include "graph/model.h"
#include "nn/schedule.h"
#include "plan/plan.h"
#include "runtime/replica_set.h"
#include "session/agreement.h"
#include "session/evaluation.h"
#include "session/prefix_cache.h"
#include "session/session_data.h"

namespace dptrain::session {

class Session {
 public:
  Session(const experiment::Experiment& experiment, const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const experiment::Experiment& experiment() const { return experiment_; }
  graph::Model& model() { return *model_; }
  const plan::Plan& plan() const { return *plan_; }
  runtime::ReplicaSet& replicas() { return *replicas_; }
  int replica_count() const { return devices_.replicas; }  ///< replicas of this process
  const World& world() const { return world_; }
  distributed::Processes* processes() const { return processes_; }  ///< null: this is the only process
  const DeviceRequest& devices() const { return devices_; }         ///< threads resolved
  /// The algorithm of each convolution pass, in all replicas; null on GPUs.
  const std::shared_ptr<backend::ConvChoices>& conv_choices() const { return conv_choices_; }
  /// One description per replica, of its devices: "cpu:0 2 threads, AVX2", "gpu:0 NVIDIA H200 ...".
  const std::vector<std::string>& device_lines() const { return device_lines_; }
  /// Report on the weights from `model.weights`; empty without that key or without `read_weights`.
  const std::optional<formats::WeightsReport>& weights_report() const { return weights_report_; }
  std::int64_t global_batch() const { return global_batch_; }
  /// Number of parts of a replica's share of a training batch (train.accumulate_steps), without virtual shards.
  std::int64_t micro_batches() const { return micro_batches_; }
  std::int64_t steps_per_epoch() const;
  std::int64_t samples_per_epoch() const { return data_->loader("train")->samples(); }

  data::Loader& train_loader() { return *data_->loader("train"); }
  data::Loader* validation_loader() { return data_->loader("validation"); }
  data::Loader* test_loader() { return data_->loader("test"); }
  data::Loader* loader(const std::string& set) { return data_->loader(set); }  ///< null if it is not open
  std::shared_ptr<const data::Source> source(const std::string& set) const { return data_->source(set); }
  /// Data sets whose batches the device makes: "train resident (45 MiB)"; empty on CPUs.
  const std::vector<std::string>& device_datasets() const { return device_datasets_; }
  const ClassNames& class_names() const { return data_->class_names(); }
  std::vector<std::string> column_lines() const { return data_->column_lines(); }
  /// Result of data::Source::fit() for the training data, to be stored with the model.
  const std::string& fitted_state() const { return data_->fitted_state(); }
  std::string data_fingerprint() const { return data_->fingerprint(); }
  std::string train_sample(std::int64_t index) const { return data_->train_sample(index); }  ///< its file or item
  /// Calls `listener` for samples that could not be read, during loading; once per file.
  void on_bad_sample(const std::function<void(const data::BadSample&)>& listener) { data_->on_bad_sample(listener); }
  /// Process 0 logs one warning about unreadable samples since the last call. `listed_in`: file with the full list, if
  /// any.
  void warn_about_bad_samples(const std::string& listed_in = "") {
    if (world_.is_first()) data_->warn_about_bad_samples(listed_in);
  }
  /// In a run of several processes: makes a loader deliver this process's share of every batch.
  void share_batches(data::LoaderOptions& options) const;
  std::vector<double> split_weights() const;  ///< one per replica of all processes

  /// "balanced: daisy 1.2, roses 0.9"; "" without class weights.
  std::string class_weights_line() const { return data_->class_weights_line(); }
  /// Description of the decision about the frozen prefix; "" if there is nothing to report.
  const std::string& prefix_line() const { return cache_.line; }
  bool caches_prefix() const { return cache_.on; }
  std::int64_t prefix_samples() const { return data_->samples(); }  ///< samples with cached features, in all sets
  /// If the prefix is cached: computes its outputs for the data sets with the current weights of model() and passes
  /// them to the loaders. Calls `should_continue` with the number of finished samples. If it returns false, stops and
  /// returns false.
  bool compute_features(const std::function<bool(std::int64_t done)>& should_continue);

  /// Rate of the next update from the config alone: schedule times lr_scaling.
  double scheduled_rate(const nn::Progress& progress) const;

  /// "open data", "plan", "replicas" ..., each with its seconds.
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }

 private:
  using Devices = std::vector<std::unique_ptr<backend::Device>>;

  void join_processes(const SessionOptions& options);
  /// With `split: auto`: makes new shares apply only from batches that no process has begun.
  void start_balance();
  SessionData::Setting data_setting(backend::Device& device) const;
  void decide_prefix_for_several();
  void decide_prefix(const SessionOptions& options);
  void make_plan(const SessionOptions& options, const backend::Device& device);
  void make_replicas(const SessionOptions& options, Devices devices);
  void done(const std::string& phase);

  const experiment::Experiment experiment_;
  distributed::Processes* const processes_;
  const int sharers_;  ///< processes on the same cores
  DeviceRequest devices_;
  std::shared_ptr<runtime::Balance> balance_;  // only with `split: auto`
  distributed::RankLayout rank_layout_;
  World world_;
  std::shared_ptr<backend::ConvChoices> conv_choices_;
  std::vector<std::string> device_lines_;
  std::int64_t global_batch_ = 0;
  std::int64_t micro_batches_ = 1;
  std::unique_ptr<graph::Model> model_;
  std::optional<formats::WeightsReport> weights_report_;
  CacheDecision cache_;
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<runtime::Connector> connector_;
  std::unique_ptr<runtime::ReplicaSet> replicas_;
  std::unique_ptr<SessionData> data_;  // destroyed before the replicas, whose devices allocate its batches
  std::vector<std::string> device_datasets_;
  nn::Rate rate_;
  double rate_factor_ = 1;
  std::vector<std::pair<std::string, double>> phases_;
  double phase_started_ = 0;
};

// Checks for the file of `model.weights` before any other preparation. Main thread.

/// For a fresh start. Throws ConfigError at the name's place in the config, with the nearest name in the same folder.
/// Does nothing if the model uses no weights file.
void require_weights_file(const experiment::Experiment& experiment);

}  // namespace dptrain::session
