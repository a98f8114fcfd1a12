#pragma once

// The data sets of a session and the loaders that read them: opened as the config says, labels as the loss wants
// them. Owned by the session, made and used on the main thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/source.h"
#include "data/sources/features.h"
#include "experiment/experiment.h"
#include "graph/graph.h"
#include "mpi/processes.h"
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
  bool wants_data = true;            ///< false: no data set at all (predict on files); labels are not wanted
  bool loader_only = false;          ///< bench: no plan, no replicas; every core may prepare batches
  std::int64_t foreign_samples = 0;  ///< of data that the caller feeds (predict): the last batch is prepared for
  std::string learned{};             ///< data::Source::learn() from the checkpoint; "": fitted to the data
  data::FittedUse fitted_use = data::FittedUse::kExact;  ///< use of `learned`
  bool force_sync_batchnorm = false;                     ///< verify; with virtual shards nothing is synchronised
  bool read_weights = false;  ///< a fresh start: fill the model from the file that `model.weights` names
  std::optional<std::int64_t> global_batch{};  ///< instead of the config's (bench sweeps)
  /// The frozen prefix may be cached: plan and replicas are then those of the rest of the network, and
  /// compute_features() comes before the first batch.
  bool may_cache_prefix = false;
  std::optional<std::int64_t> epochs{}, steps{};  ///< instead of the config's: how long training will take
  double first_step_seconds = 600;                ///< on devices with a driver: how long the first step may stand still
  mpi::Processes* processes = nullptr;  ///< that run this together, where they are several; outlives the session
  bool feeds = true;                    ///< false: batches hold floats whatever the device could do (verify)
};

/// One pass over a data set.
struct LoaderPlan {
  std::string name;         ///< of the pass, for a cache on disk: "train", "validation"
  bool evaluation = false;  ///< eval's transforms
  bool in_order = false;    ///< else it trains, and its batches are numbered
  bool features = false;    ///< the source has features: what comes over the border, no transforms
  bool labels = true;
  data::Delivery delivery = data::Delivery::kFloats;
  int feed = -1;  ///< of the devices, unless floats are delivered
};

class SessionData {
 public:
  /// An open data set and its loader.
  struct Set {
    std::string name;  ///< "train", "validation", "test"
    std::shared_ptr<const data::Source> source;
    bool evaluation = false;  ///< by eval's transforms and in its own order
    std::unique_ptr<data::Loader> loader;
  };
  /// What loaders have to know of the devices.
  struct Setting {
    std::int64_t global_batch = 0;
    int busy_threads = 0;                                                                   ///< of the replicas
    data::Allocate allocate;                                                                ///< page-locked for GPUs
    std::function<void(data::LoaderOptions&)> share_batches = [](data::LoaderOptions&) {};  ///< among processes
    int processes_here = 1;  ///< of the run, on this machine
  };

  /// Opens what `options` want; nothing where they want no data. `experiment` and `graph` stay where they are. Throws
  /// Error{kUsage} or Error{kData}.
  SessionData(const experiment::Experiment& experiment, const graph::Graph& graph, const SessionOptions& options,
              Setting setting);

  /// The open ones, train first.
  std::vector<Set>& sets() { return sets_; }
  const std::vector<Set>& sets() const { return sets_; }
  /// As the config has them, eval's or train's.
  std::vector<config::Typed> transforms(bool evaluation) const;
  /// Null where it is not open.
  data::Loader* loader(const std::string& name) const;
  /// The samples themselves, also where the loaders go over features of them. Null where it is not open.
  std::shared_ptr<const data::Source> source(const std::string& name) const;
  std::int64_t samples() const;  ///< of all of them
  /// Whether the training samples are others in every epoch, by themselves.
  bool draws() const { return sources_.train && sources_.train->draws(); }

  /// With labels as the data set has them; none where labels are not wanted.
  const std::vector<plan::Objective>& objectives() const { return objectives_; }
  const ClassNames& class_names() const { return class_names_; }
  const std::string& learned() const { return sources_.learned; }
  /// Of the training data: data::Source::column_lines().
  std::vector<std::string> column_lines() const {
    return sources_.train ? sources_.train->column_lines() : std::vector<std::string>{};
  }
  std::string class_weights_line() const;
  std::string fingerprint() const;
  std::string facts() const;  ///< fingerprints and sizes of all data sets, a line each
  std::string train_sample(std::int64_t index) const {
    return sources_.train->label_place(index);
  }  ///< of the training set

  std::unique_ptr<data::Loader> make_loader(const std::shared_ptr<const data::Source>& source,
                                            const LoaderPlan& plan) const;

  /// For compute_features: every set in its own order without labels. The loaders are gone until take_features().
  std::vector<FeatureJob> feature_jobs();
  /// The loaders go over `features` from now on, one per set, which `inputs` of the head take; without any, over the
  /// data as before.
  void take_features(const std::optional<std::vector<std::shared_ptr<const data::Source>>>& features,
                     std::vector<data::FeatureInput> inputs);

  void on_bad_sample(const std::function<void(const data::BadSample&)>& listener);
  void warn_about_bad_samples(const std::string& listed_in);

 private:
  void open(const SessionOptions& options);
  void make_loaders(const SessionOptions& options);
  void measure_lengths(const SessionOptions& options);
  void resolve_class_weights(const SessionOptions& options);
  data::ModelSide model_side() const;
  std::vector<data::LabelDelivery> label_deliveries(const data::ModelSide& side) const;
  std::vector<std::shared_ptr<data::BadSamples>> accounts() const;

  const experiment::Experiment& experiment_;
  const graph::Graph& graph_;
  Setting setting_;
  bool loader_only_;
  std::string learned_;  // before the data sets are opened
  data::FittedUse fitted_use_;
  std::vector<plan::Objective> objectives_;
  data::Sources sources_;
  data::LengthBuckets buckets_;  // of the training set
  std::vector<Set> sets_;
  std::vector<data::FeatureInput> border_;  // inputs of the head, where the data sets are features
  ClassNames class_names_;
  std::size_t bad_samples_told_ = 0;
};

}  // namespace dptrain::session
