#pragma once

// The cached frozen prefix (`runtime.cache_frozen_prefix`): the frozen layers below the first trainable one. Their
// output for each sample is computed and stored once, before the first epoch. Training then runs the rest of the
// network on it. The session decides at construction, from the config and the sizes, whether to cache. It computes the
// features once the weights are final. Main thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/sources/features.h"
#include "experiment/experiment.h"
#include "graph/model.h"
#include "plan/prefix.h"
#include "session/devices.h"

namespace dptrain::session {

/// Inputs of the decision other than the config and the model.
struct CacheInputs {
  std::int64_t samples = 0;       ///< samples of all data sets whose features are needed
  double epochs = 0;              ///< number of epochs of the run
  std::uint64_t free_memory = 0;  ///< free bytes of host memory
  bool data_draws = false;        ///< samples differ between epochs (data::Source::draws)
};

struct CacheDecision {
  bool on = false;
  std::string folder;  ///< folder of the file; "": in memory
  /// One line for the log; "" without a frozen layer, or if the cache is off.
  std::string line;
  plan::FrozenPrefix prefix;
};

/// Throws Error{kUsage} (kMemory if memory is too small) if the config requires a cache that is impossible.
CacheDecision decide_cache(const experiment::ConfigFile& config, const graph::Model& model,
                           const CacheInputs& question);

/// The inputs of the remaining network: name and shape of the prefix's outputs.
std::vector<data::FeatureInput> border_inputs(const graph::Graph& graph, const plan::FrozenPrefix& prefix);

/// A data set whose features are needed, in its own order, with a loader that reads it in that order.
struct FeatureJob {
  std::shared_ptr<const data::Source> source;
  std::unique_ptr<data::Loader> loader;
};

/// Runs the prefix over the jobs on its own devices, which are released afterwards. Calls `should_continue` after each
/// batch with the number of finished samples. If it returns false, stops and returns nothing.
std::optional<std::vector<std::shared_ptr<const data::Source>>> compute_features(
    const experiment::Experiment& experiment, const graph::Model& model, const DeviceRequest& devices,
    const std::shared_ptr<backend::ConvChoices>& conv_choices, const CacheDecision& decision, std::int64_t global_batch,
    std::vector<FeatureJob> jobs, const std::function<bool(std::int64_t done)>& should_continue);

}  // namespace dptrain::session
