#pragma once

// The sections of a config except the model: typed structs with Keras's names. Their schemas (sections.cpp) read and
// write them; docs/reference/configuration.md explains the keys.

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

// train.on_nonfinite: reaction to a step whose loss or gradients are not finite, and to weights that are not finite.
// The devices skip such an update (backend/update.h), so the weights are those from before the step.

/// Ends the run with exit code 6.
struct StopSpec {};
/// Continues with the next batch. Random layers and schedules count the step, optimizers do not.
struct SkipStepSpec {
  std::int64_t at_most = 10;  ///< per run; one more ends it
};
/// Returns to last.h5 and multiplies the learning rate by `factor`.
struct RollbackSpec {
  double factor = 0.5;
  std::int64_t at_most = 3;
};

config::Family& nonfinite_family();
using OnNonfinite = config::Of<nonfinite_family>;

nn::Optimizer default_optimizer();  ///< RMSprop, as in Keras's compile()

/// "auto" (no value) or an integer.
struct AutoInt {
  std::optional<int> value;
};

/// Batches of samples with similar lengths (data/length_buckets.h).
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

/// An argument of training for all outputs of the model, or one per output by name.
template <class T>
struct OutputMap {
  struct Entry {
    std::string output;  ///< "": all outputs
    T value{};
    config::Mark mark{};
  };
  std::vector<Entry> entries{};

  explicit operator bool() const { return !entries.empty(); }
  bool for_all() const { return entries.size() == 1 && entries.front().output.empty(); }
  /// The value for the output, or null.
  const T* find(const std::string& output) const {
    for (const Entry& entry : entries)
      if (entry.output.empty() || entry.output == output) return &entry.value;
    return nullptr;
  }
};

using Losses = OutputMap<nn::Loss>;
using Metrics = OutputMap<std::vector<nn::Metric>>;
using LossWeights = OutputMap<double>;

enum class DtypePolicy { kFloat32, kMixedBfloat16, kMixedFloat16 };
std::string name_of(DtypePolicy policy);  ///< "mixed_bfloat16"
enum class LrScaling { kNone, kLinear, kSqrt };

/// Keras's class_weight: by class name or index, or from class frequencies (session/class_weights.h).
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
  std::optional<std::int64_t> accumulate_steps;  ///< none: chosen in session/dry_plan.h
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
  std::optional<std::int64_t> ignore_class;  ///< no key: that of the data sets (resolve_ignored_class())
};

/// "even", one weight per replica, or "auto": adapts to the speed of each replica.
struct Split {
  std::vector<double> weights;  ///< empty: even or automatic
  bool automatic = false;       ///< starts evenly
};

/// The type in which GPUs exchange gradients when each has a replica.
enum class AllreduceDtype { kFloat32, kBfloat16 };

struct ParallelSection {
  Split split;
  bool sync_batchnorm = false;
  /// Number of parts of each batch: results are bit-identical on 1, 2, 4, ... replicas.
  std::optional<std::int64_t> virtual_shards;
  std::optional<config::ByteSize> bucket_size;  ///< none: chosen in session/devices.h
  AllreduceDtype allreduce_dtype = AllreduceDtype::kFloat32;
  std::optional<config::Duration> check_replicas;  ///< steps between comparisons of the replicas' parameters
  config::Duration watchdog{
      60, config::Duration::Unit::kSeconds};  ///< several GPUs: maximum time of a step without progress; bare: seconds
};

/// How to choose a convolution engine: by rule, or by timing; kAuto: by timing in training.
enum class Autotune { kAuto, kHeuristic, kTime };

/// Where features of a frozen prefix are cached, if at all (session/prefix_cache.h).
struct CachePrefix {
  enum class Kind { kAuto, kOff, kMemory, kDisk } kind = Kind::kAuto;
  config::Path folder{};  ///< kDisk
};

/// Where data sets in memory become batches: on the GPU, which keeps them if they fit, or in the loader.
enum class Resident { kAuto, kOff };

/// Where the timed choices of convolution algorithms are stored (session/conv_cache.h).
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
  bool cudnn_attention = false;
  Autotune autotune = Autotune::kHeuristic;
  backend::Graphs cuda_graphs = backend::Graphs::kAuto;
  Resident resident = Resident::kAuto;
};

config::Family& callback_family();
using CallbackConfig = config::Of<callback_family>;

/// The whole file except `model:`.
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
  std::optional<GatesSection> gates;  ///< requirements on the model at the end
};

const config::Schema& config_schema();

}  // namespace dptrain::experiment
