#pragma once

// Session: an experiment made ready to run: the template model, the plan, devices with a replica each, and loaders. What
// fit, eval, predict, bench and verify share. Made and used on the main thread; phases and their times are kept for the log.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/weights.h"
#include "data/loader.h"
#include "graph/model.h"
#include "plan/plan.h"
#include "replica/replica_set.h"
#include "train/devices.h"
#include "train/experiment.h"
#include "train/prefix_cache.h"

namespace dptrain::train {

enum class DataMode { kReal, kSynthetic };

struct SessionOptions {
  DeviceRequest devices;
  DataMode data = DataMode::kReal;
  bool training = true;              ///< make optimizer state and the train loader
  bool wants_train = true;           ///< data sets to open
  bool wants_validation = true;
  bool wants_test = false;
  bool wants_data = true;            ///< false: no data set at all (predict on files); labels are not wanted
  bool loader_only = false;          ///< bench: no plan, no replicas; every core may prepare batches
  std::int64_t foreign_samples = 0;  ///< of data that the caller feeds (predict): the last batch is prepared for
  bool force_sync_batchnorm = false; ///< verify
  bool read_weights = false;         ///< a fresh start: fill the model from the file that `model.weights` names
  std::optional<std::int64_t> global_batch{};  ///< instead of the config's (bench sweeps)
  /// The frozen prefix may be cached: plan and replicas are then those of the rest of the network, and compute_features()
  /// comes before the first batch.
  bool may_cache_prefix = false;
  std::optional<std::int64_t> epochs{}, steps{};  ///< instead of the config's: how long training will take
  bool device_input = true;          ///< false: batches hold floats whatever the device could do (verify)
};

class Session {
 public:
  Session(const Experiment& experiment, const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Experiment& experiment() const { return experiment_; }
  graph::Model& model() { return *model_; }
  const plan::Plan& plan() const { return *plan_; }
  replica::ReplicaSet& replicas() { return *replicas_; }
  int replica_count() const { return devices_.replicas; }
  const DeviceRequest& devices() const { return devices_; }  ///< threads resolved
  /// One line of facts per replica's device: "cpu:0 2 threads, AVX2", "gpu:0 NVIDIA H200 ...".
  const std::vector<std::string>& device_lines() const { return device_lines_; }
  /// What `model.weights` has filled; nothing without it or without `read_weights`.
  const std::optional<checkpoint::WeightsReport>& weights_report() const { return weights_report_; }
  std::int64_t global_batch() const { return global_batch_; }
  std::int64_t steps_per_epoch() const;

  data::Loader& train_loader() { return *train_; }
  data::Loader* validation_loader() { return validation_.get(); }
  data::Loader* test_loader() { return test_.get(); }
  /// Which data sets become batches on the GPU: "train resident (45 MiB)"; empty on CPUs.
  const std::vector<std::string>& device_inputs() const { return device_inputs_; }
  const std::vector<std::string>& class_names() const { return class_names_; }
  std::string data_fingerprint() const;
  /// Samples that could not be read, as the loaders meet them; each file once.
  void on_bad_sample(const std::function<void(const data::BadSample&)>& listener);
  /// One warning about those that are new since the last call; `listed_in` is the file that has them all, if there is one.
  void warn_about_bad_samples(const std::string& listed_in = "");
  std::vector<double> split_weights() const;  ///< one per replica

  /// "balanced: daisy 1.2, roses 0.9"; "" without class weights.
  std::string class_weights_line() const;
  /// Says what becomes of the frozen prefix; "" where there is nothing to say.
  const std::string& prefix_line() const { return cache_.line; }
  bool caches_prefix() const { return cache_.on; }
  std::int64_t prefix_samples() const;  ///< whose features are kept, of all data sets
  /// Where the prefix is cached: runs it over the data sets, with the weights of model() as they are now, and hands the
  /// features to the loaders. `go_on` hears how many samples are done; false stops it, and then this gives false.
  bool compute_features(const std::function<bool(std::int64_t done)>& go_on);

  /// Rate of a step by the config alone: schedule times lr_scaling.
  double scheduled_rate(std::int64_t step) const;

  /// "open data", "plan", "replicas" ... with seconds.
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }

 private:
  using Devices = std::vector<std::unique_ptr<device::Device>>;

  void open_data(const SessionOptions& options);
  void decide_prefix(const SessionOptions& options);
  void make_plan(const SessionOptions& options, const device::Device& device);
  void make_replicas(const SessionOptions& options, Devices devices);
  /// One pass over a data set.
  struct LoaderPlan {
    std::string name;         ///< of the pass, for a cache on disk: "train", "validation"
    bool evaluation = false;  ///< eval's transforms
    bool in_order = false;
    bool features = false;    ///< the source has features: what comes over the border, no transforms
    bool labels = true;
    data::Delivery delivery = data::Delivery::kFloats;
    int feed = -1;            ///< of the devices, unless floats are delivered
  };
  std::unique_ptr<data::Loader> make_loader(const std::shared_ptr<const data::Source>& source, const LoaderPlan& plan) const;
  void feed_devices(const SessionOptions& options);
  std::unique_ptr<data::Loader> fed_loader(const std::string& role, const std::shared_ptr<const data::Source>& source,
                                           const data::Loader& loader, bool evaluation);
  data::ModelSide model_side() const;
  std::vector<std::shared_ptr<data::BadSamples>> accounts() const;
  void resolve_class_weights(const SessionOptions& options);
  double planned_epochs(const SessionOptions& options) const;
  void done(const std::string& phase);

  const Experiment experiment_;
  DeviceRequest devices_;
  std::vector<std::string> device_lines_;
  bool loader_only_ = false;
  data::Allocate batch_memory_;  ///< page-locked for GPUs
  std::int64_t global_batch_ = 0;
  std::unique_ptr<graph::Model> model_;
  std::optional<checkpoint::WeightsReport> weights_report_;
  data::Sources sources_;
  CacheDecision cache_;
  std::vector<float> class_weights_;  ///< one per class; empty: none
  optim::LabelKind label_kind_ = optim::LabelKind::kClass;
  bool labels_wanted_ = true;
  std::vector<std::string> class_names_;
  std::unique_ptr<plan::Plan> plan_;
  std::unique_ptr<replica::Connector> connector_;
  std::unique_ptr<replica::ReplicaSet> replicas_;
  std::unique_ptr<data::Loader> train_, validation_, test_;
  std::vector<std::string> device_inputs_;
  optim::Rate rate_;
  double rate_factor_ = 1;
  std::vector<std::pair<std::string, double>> phases_;
  double phase_started_ = 0;
  std::size_t bad_samples_told_ = 0;
};

/// Whether a Split of the training set is among the others.
bool needs_train(const data::DatasetConfig& datasets);

/// Names of what StepSums hold: "loss" first, then the metrics.
std::vector<std::string> sum_names(const plan::Plan& plan);
/// Means by name from sums; the loss includes the penalty.
std::vector<std::pair<std::string, double>> means(const plan::Plan& plan, const replica::StepSums& sums);

/// Runs a whole loader in inference mode.
replica::StepSums evaluate(Session& session, data::Loader& loader);

replica::HostBatch host_batch(const data::Batch& batch, std::size_t inputs);

}  // namespace dptrain::train
