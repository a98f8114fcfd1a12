#pragma once

// Session: an experiment made ready to run: the template model, the plan, devices with a replica each, and loaders.
// What fit, eval, predict, bench and verify share. Made and used on the main thread; phases and their times are kept
// for the log.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/weights.h"
#include "data/loader.h"
#include "experiment/experiment.h"
#include "graph/model.h"
#include "plan/plan.h"
#include "replica/replica_set.h"
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
  replica::ReplicaSet& replicas() { return *replicas_; }
  int replica_count() const { return devices_.replicas; }  ///< of this process
  const World& world() const { return world_; }
  mpi::Processes* processes() const { return processes_; }   ///< null: there is this one alone
  const DeviceRequest& devices() const { return devices_; }  ///< threads resolved
  /// Which algorithm each convolution pass uses, in all replicas; null on GPUs.
  const std::shared_ptr<backend::ConvChoices>& conv_choices() const { return conv_choices_; }
  /// One line of facts per replica's devices: "cpu:0 2 threads, AVX2", "gpu:0 NVIDIA H200 ...".
  const std::vector<std::string>& device_lines() const { return device_lines_; }
  /// What `model.weights` has filled; nothing without it or without `read_weights`.
  const std::optional<checkpoint::WeightsReport>& weights_report() const { return weights_report_; }
  std::int64_t global_batch() const { return global_batch_; }
  /// That a replica's share of a batch is cut into in training (train.accumulate_steps); virtual shards apart.
  std::int64_t micro_batches() const { return micro_batches_; }
  std::int64_t steps_per_epoch() const;
  std::int64_t samples_per_epoch() const { return data_->loader("train")->samples(); }

  data::Loader& train_loader() { return *data_->loader("train"); }
  data::Loader* validation_loader() { return data_->loader("validation"); }
  data::Loader* test_loader() { return data_->loader("test"); }
  data::Loader* loader(const std::string& set) { return data_->loader(set); }  ///< null where it is not open
  std::shared_ptr<const data::Source> source(const std::string& set) const { return data_->source(set); }
  /// Which data sets become batches on the GPU: "train resident (45 MiB)"; empty on CPUs.
  const std::vector<std::string>& feeds() const { return feeds_; }
  const ClassNames& class_names() const { return data_->class_names(); }
  std::vector<std::string> column_lines() const { return data_->column_lines(); }
  /// What samples of the training data are made with (data::Source::learn()), to be kept with the model.
  const std::string& learned() const { return data_->learned(); }
  std::string data_fingerprint() const { return data_->fingerprint(); }
  std::string train_sample(std::int64_t index) const { return data_->train_sample(index); }  ///< the file or item it is
  /// Samples that could not be read, as the loaders meet them; each file once.
  void on_bad_sample(const std::function<void(const data::BadSample&)>& listener) { data_->on_bad_sample(listener); }
  /// One warning about those that are new since the last call, by process 0; `listed_in` is the file that has them all,
  /// if there is one.
  void warn_about_bad_samples(const std::string& listed_in = "") {
    if (world_.is_first()) data_->warn_about_bad_samples(listed_in);
  }
  /// What a loader of this process needs to make its share of every batch; nothing where it is alone.
  void start_balance();
  void share_batches(data::LoaderOptions& options) const;
  std::vector<double> split_weights() const;  ///< one per replica of all processes

  /// "balanced: daisy 1.2, roses 0.9"; "" without class weights.
  std::string class_weights_line() const { return data_->class_weights_line(); }
  /// Says what becomes of the frozen prefix; "" where there is nothing to say.
  const std::string& prefix_line() const { return cache_.line; }
  bool caches_prefix() const { return cache_.on; }
  std::int64_t prefix_samples() const { return data_->samples(); }  ///< whose features are kept, of all data sets
  /// Where the prefix is cached: runs it over the data sets, with the weights of model() as they are now, and hands the
  /// features to the loaders. `go_on` hears how many samples are done; false stops it, and then this gives false.
  bool compute_features(const std::function<bool(std::int64_t done)>& go_on);

  /// Rate of the next update by the config alone: schedule times lr_scaling.
  double scheduled_rate(const nn::Progress& progress) const;

  /// "open data", "plan", "replicas" ... with seconds.
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }

 private:
  using Devices = std::vector<std::unique_ptr<backend::Device>>;

  void meet(const SessionOptions& options);
  SessionData::Setting data_setting(backend::Device& device) const;
  void decide_prefix_for_several();
  void decide_prefix(const SessionOptions& options);
  void make_plan(const SessionOptions& options, const backend::Device& device);
  void make_replicas(const SessionOptions& options, Devices devices);
  void done(const std::string& phase);

  const experiment::Experiment experiment_;
  mpi::Processes* const processes_;
  const int sharers_;  ///< processes on the same cores
  DeviceRequest devices_;
  std::shared_ptr<replica::Balance> balance_;  // of `split: auto`
  reduce::Seats seats_;
  World world_;
  std::shared_ptr<backend::ConvChoices> conv_choices_;
  std::vector<std::string> device_lines_;
  std::int64_t global_batch_ = 0;
  std::int64_t micro_batches_ = 1;
  std::unique_ptr<graph::Model> model_;
  std::optional<checkpoint::WeightsReport> weights_report_;
  CacheDecision cache_;
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<replica::Connector> connector_;
  std::unique_ptr<replica::ReplicaSet> replicas_;
  std::unique_ptr<SessionData> data_;  // after the replicas, whose devices its batches lie with
  std::vector<std::string> feeds_;
  nn::Rate rate_;
  double rate_factor_ = 1;
  std::vector<std::pair<std::string, double>> phases_;
  double phase_started_ = 0;
};

// The file that `model.weights` names must be there before anything is made ready. Main thread.

/// For a fresh start. Throws ConfigError at the name's place in the config, with the nearest name in the same folder;
/// nothing where the model takes no weights.
void require_weights_file(const experiment::Experiment& experiment);

}  // namespace dptrain::session
