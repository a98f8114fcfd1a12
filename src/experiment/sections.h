#pragma once

// The sections of a config that are not the model: typed structs with Keras's words. Read and written by their schemas
// (sections.cpp); what each key means for the user is docs/config.md.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/runtime_options.h"
#include "config/typed.h"
#include "data/loader_options.h"
#include "experiment/gates_section.h"
#include "nn/resolved_metric.h"

namespace dptrain::nn {
config::Family& optimizer_family();
using Optimizer = config::Of<optimizer_family>;
}  // namespace dptrain::nn

namespace dptrain::experiment {

// train.on_nonfinite: what a run does about a step whose loss or gradients are not finite, and about weights that are
// not. The devices leave such a step's update out (backend/update.h), so the weights are still those before it.

/// Ends the run, exit code 6.
struct StopSpec {};
/// Goes on with the next batch. Random layers and schedules count the step, optimizers do not.
struct SkipStepSpec {
  std::int64_t at_most = 10;  ///< in a run; one more ends it
};
/// Goes back to last.h5 with the learning rate times `factor`.
struct RollbackSpec {
  double factor = 0.5;
  std::int64_t at_most = 3;
};

config::Family& nonfinite_family();
using OnNonfinite = config::Of<nonfinite_family>;

nn::Optimizer default_optimizer();  ///< RMSprop, as in Keras's compile()

/// "auto" (no value) or a whole number.
struct AutoInt {
  std::optional<int> value;
};

/// Batches of samples of like lengths (data/length_buckets.h).
struct BucketByLength {
  std::int64_t window = 0;  ///< batches; 0: none
  config::Mark mark{};
};

struct LoaderSection {
  data::Shuffle shuffle;
  BucketByLength bucket_by_length;
  AutoInt workers;
  AutoInt prefetch;
  data::CacheOptions cache;
};

/// One list for both, or {train: [...], eval: [...]}.
struct Transforms {
  std::vector<config::Of<data::transform_family>> train, eval;
};

struct DataSection {
  config::Of<data::dataset_family> train, validation, test;
  Transforms transforms;
  LoaderSection loader;
};

/// An argument of training for all outputs of the model, or one for each by name.
template <class T>
struct ByOutput {
  struct Entry {
    std::string output;  ///< "": all of them
    T value{};
    config::Mark mark{};
  };
  std::vector<Entry> entries{};

  explicit operator bool() const { return !entries.empty(); }
  bool for_all() const { return entries.size() == 1 && entries.front().output.empty(); }
  /// What stands for the output; null: nothing.
  const T* find(const std::string& output) const {
    for (const Entry& entry : entries)
      if (entry.output.empty() || entry.output == output) return &entry.value;
    return nullptr;
  }
};

using Losses = ByOutput<nn::Loss>;
using Metrics = ByOutput<std::vector<nn::Metric>>;
using LossWeights = ByOutput<double>;

enum class DtypePolicy { kFloat32, kMixedBfloat16, kMixedFloat16 };
std::string name_of(DtypePolicy policy);  ///< "mixed_bfloat16"
enum class LrScaling { kNone, kLinear, kSqrt };

/// Keras's class_weight: by class name or number, or from how often each class occurs (session/class_weights.h).
struct ClassWeight {
  bool balanced = false;
  std::vector<std::pair<std::string, double>> weights{};
  config::Mark mark{};
};

struct TrainSection {
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> batch_size;  ///< global, per optimizer update
  std::optional<std::int64_t> batch_size_per_replica;
  std::optional<std::int64_t> accumulate_steps;  ///< none: session/dry_plan.h
  nn::Optimizer optimizer = default_optimizer();
  Losses loss;
  LossWeights loss_weights;
  Metrics metrics;
  std::optional<ClassWeight> class_weight;
  DtypePolicy dtype_policy = DtypePolicy::kFloat32;
  LrScaling lr_scaling = LrScaling::kNone;
  std::optional<std::int64_t> reference_batch_size;
  config::Duration validate_every{1, config::Duration::Unit::kEpochs};  ///< bare: epochs
  config::Duration log_every{50, config::Duration::Unit::kSteps};       ///< bare: steps
  std::optional<config::Duration> max_time;                             ///< bare: seconds
  OnNonfinite on_nonfinite{StopSpec{}};
};

/// "even", one weight per replica, or "auto": as fast as each replica turns out to be.
struct Split {
  std::vector<double> weights;  ///< empty: even, or
  bool automatic = false;       ///< even at first
};

/// What GPUs of their own exchange to sum gradients.
enum class AllreduceDtype { kFloat32, kBfloat16 };

struct ParallelSection {
  Split split;
  bool sync_batchnorm = false;
  /// Parts of every batch, whatever the number of replicas: the same bits on 1, 2, 4, ... of them.
  std::optional<std::int64_t> virtual_shards;
  std::optional<config::ByteSize> bucket_size;  ///< none: session/devices.h
  AllreduceDtype allreduce_dtype = AllreduceDtype::kFloat32;
  std::optional<config::Duration> check_replicas;  ///< steps between comparisons of the replicas' parameters
  config::Duration watchdog{
      60, config::Duration::Unit::kSeconds};  ///< several GPUs: how long a step may stand still; bare: seconds
};

/// Which convolution engine: by rule, or by the clock; kAuto: by the clock in training.
enum class Autotune { kAuto, kHeuristic, kTime };

/// Where the features of a frozen prefix are kept, if they are (session/prefix_cache.h).
struct CachePrefix {
  enum class Kind { kAuto, kOff, kMemory, kDisk } kind = Kind::kAuto;
  config::Path folder{};  ///< kDisk
};

/// Where data sets that lie in memory become batches: on the GPU, and kept there where they fit; or in the loader.
enum class Resident { kAuto, kOff };

/// Where choices of convolutions that were timed are kept (session/conv_cache.h).
struct ConvCache {
  enum class Kind { kAuto, kNone, kFile } kind = Kind::kAuto;
  config::Path file{};  ///< kFile
};

/// From `tf32` on: GPUs only.
struct RuntimeSection {
  CachePrefix cache_frozen_prefix;
  bool deterministic = true;
  backend::ConvChoice conv = backend::ConvChoice::kAuto;
  ConvCache conv_cache;
  bool bn_unbiased_running_var = false;
  bool tf32 = true;
  config::ByteSize workspace_limit{std::uint64_t{1} << 30};
  Autotune autotune = Autotune::kHeuristic;
  backend::Graphs cuda_graphs = backend::Graphs::kAuto;
  Resident resident = Resident::kAuto;
};

config::Family& callback_family();
using CallbackConfig = config::Of<callback_family>;

/// The file as a whole, but for `model:`.
struct ConfigFile {
  std::int64_t dptrain = 1;  ///< schema version
  std::string name;
  std::uint64_t seed = 0;
  config::Path run_dir{"runs"};
  DataSection data;
  TrainSection train;
  ParallelSection parallel;
  RuntimeSection runtime;
  std::vector<CallbackConfig> callbacks;
  std::optional<GatesSection> gates;  ///< what the model must keep at the end
};

const config::Schema& config_schema();

}  // namespace dptrain::experiment
