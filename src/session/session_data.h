#pragma once

// The data sets of a session and the loaders that read them. The data sets are opened as the config specifies, with
// labels as the loss requires. Owned by the session, made and used on the main thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/source.h"
#include "data/sources/features.h"
#include "distributed/processes.h"
#include "experiment/experiment.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "session/devices.h"
#include "session/prefix_cache.h"

namespace dptrain::session {

enum class DataMode { kReal, kSynthetic };

struct SessionOptions {
  DeviceRequest devices;
  DataMode data = DataMode::kReal;
  bool training = true;     ///< make optimizer state and the train loader
  bool wants_train = true;  ///< data sets to open
  bool wants_validation = true;
  bool wants_test = false;
  bool wants_data = true;            ///< false: no data sets and labels (predict on files)
  bool loader_only = false;          ///< bench: no plan and replicas; all cores prepare batches
  std::int64_t foreign_samples = 0;  ///< size of the caller's data (predict), whose last batch may be smaller
  std::string fitted_state{};        ///< data::Source::fit() from the checkpoint; "": fitted to the data
  data::FittedUse fitted_use = data::FittedUse::kExact;  ///< how to use `fitted_state`
  bool force_sync_batchnorm = false;                     ///< for verify; no effect with virtual shards
  bool read_weights = false;                             ///< fresh start: read the file of `model.weights`
  std::optional<std::int64_t> global_batch{};            ///< overrides the config (bench sweeps)
  /// Permits caching the frozen prefix. The plan and the replicas then contain only the rest of the network. The caller
  /// must call compute_features() before the first batch.
  bool may_cache_prefix = false;
  std::optional<std::int64_t> epochs{}, steps{};  ///< override the config: length of training
  double first_step_seconds = 600;  ///< devices with a driver: longest time without progress in the first step
  distributed::Processes* processes = nullptr;  ///< all processes of the run, if several; outlives the session
  bool device_datasets = true;                  ///< false: batches always contain floats (verify)
  /// predict: tensors to compute instead of the model's outputs. Only without `training`.
  std::vector<graph::Port> outputs{};
};

/// One pass over a data set.
struct LoaderPlan {
  std::string name;         ///< name of the pass, for a cache on disk: "train", "validation"
  bool evaluation = false;  ///< use eval's transforms
  bool in_order = false;    ///< false: for training, with numbered batches
  bool features = false;    ///< the source contains outputs of the prefix, without transforms
  bool labels = true;
  data::BatchForm form = data::BatchForm::kFloats;
  int dataset = -1;  ///< number of the device data set, unless floats are delivered
};

/// Class numbers for losses over classes, one per position of the output. Rows of floats otherwise, and after mixing.
/// `which`: index of the label. Throws Error{kData} for floats where the loss needs class numbers.
nn::LabelKind label_kind(const config::Typed& loss, const Shape& output, const data::Source& source, int which,
                         bool mixed);
/// One per objective, for the outputs of `side`. Objective::labels must be set.
std::vector<data::LabelForm> label_forms(const experiment::Experiment& experiment,
                                         const std::vector<plan::Objective>& objectives, const data::ModelSide& side);

class SessionData {
 public:
  /// An open data set and its loader.
  struct Set {
    std::string name;  ///< "train", "validation", "test"
    std::shared_ptr<const data::Source> source;
    bool evaluation = false;  ///< uses eval's transforms and its own order
    std::unique_ptr<data::Loader> loader;
  };
  /// Properties of the devices that loaders need.
  struct Setting {
    std::int64_t global_batch = 0;
    int busy_threads = 0;     ///< threads of the replicas
    data::Allocate allocate;  ///< allocates page-locked memory for GPUs
    std::function<void(data::LoaderOptions&)> share_batches = [](data::LoaderOptions&) {};  ///< among processes
    int processes_here = 1;  ///< processes of the run on this machine
  };

  /// Opens the data sets that `options` requests, if any. `experiment` and `graph` must outlive this object. Throws
  /// Error{kUsage} or Error{kData}.
  SessionData(const experiment::Experiment& experiment, const graph::Graph& graph, const SessionOptions& options,
              Setting setting);

  /// The open data sets, train first.
  std::vector<Set>& sets() { return sets_; }
  const std::vector<Set>& sets() const { return sets_; }
  /// The transforms from the config, for evaluation or training.
  std::vector<config::Typed> transforms(bool evaluation) const;
  /// Null if the set is not open.
  data::Loader* loader(const std::string& name) const;
  /// The samples themselves, even if the loaders read cached features. Null if the set is not open.
  std::shared_ptr<const data::Source> source(const std::string& name) const;
  std::int64_t samples() const;  ///< samples of all sets
  /// Whether the training source itself draws different samples in every epoch.
  bool draws() const { return sources_.train && sources_.train->draws(); }

  /// With the kinds of labels of the data set; without labels if they are not needed.
  const std::vector<plan::Objective>& objectives() const { return objectives_; }
  const ClassNames& class_names() const { return class_names_; }
  const std::string& fitted_state() const { return sources_.fitted_state; }
  /// data::Source::column_lines() of the training data.
  std::vector<std::string> column_lines() const {
    return sources_.train ? sources_.train->column_lines() : std::vector<std::string>{};
  }
  std::string class_weights_line() const;
  std::string fingerprint() const;
  std::string facts() const;  ///< fingerprints and sizes of all data sets, a line each
  /// File or item of a training sample.
  std::string train_sample(std::int64_t index) const { return sources_.train->label_place(index); }

  std::unique_ptr<data::Loader> make_loader(const std::shared_ptr<const data::Source>& source,
                                            const LoaderPlan& plan) const;

  /// For compute_features: every set in its own order, without labels. Removes the loaders until set_features().
  std::vector<FeatureJob> feature_jobs();
  /// The loaders read `features` from now on, one source per set; `inputs` are the inputs of the remaining network.
  /// Empty: they read the data as before.
  void set_features(const std::optional<std::vector<std::shared_ptr<const data::Source>>>& features,
                    std::vector<data::FeatureInput> inputs);

  void on_bad_sample(const std::function<void(const data::BadSample&)>& listener);
  void warn_about_bad_samples(const std::string& listed_in);

 private:
  void open(const SessionOptions& options);
  void make_label_maps(const std::string& output);
  void make_loaders(const SessionOptions& options);
  void measure_lengths(const SessionOptions& options);
  void resolve_class_weights(const SessionOptions& options);
  data::ModelSide model_side() const;
  std::vector<std::shared_ptr<data::BadSamples>> accounts() const;

  const experiment::Experiment& experiment_;
  const graph::Graph& graph_;
  Setting setting_;
  bool loader_only_;
  std::string fitted_state_;  // value before the data sets are opened
  data::FittedUse fitted_use_;
  std::vector<plan::Objective> objectives_;
  data::Sources sources_;
  data::LengthBuckets buckets_;  // for the training set
  std::vector<Set> sets_;
  std::vector<data::FeatureInput> border_;  // inputs of the remaining network, if features are cached
  ClassNames class_names_;
  std::size_t bad_samples_reported_ = 0;
};

}  // namespace dptrain::session
