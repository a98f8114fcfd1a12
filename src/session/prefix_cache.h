#pragma once

// The cached frozen prefix (`runtime.cache_frozen_prefix`): what the frozen layers below the first trainable one make
// of each sample is computed once, before the first epoch, and kept; training then runs the rest of the network on it.
// Whether that can be done is decided when a session is made, from the config and the sizes; the computing waits until
// the weights are final. Main thread.

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

/// What the decision depends on besides the config and the model.
struct CacheQuestion {
  std::int64_t samples = 0;       ///< of all data sets whose features are wanted
  double epochs = 0;              ///< that the run will take
  std::uint64_t free_memory = 0;  ///< bytes of the host
  bool data_draws = false;        ///< samples are others in every epoch (data::Source::draws)
};

struct CacheDecision {
  bool on = false;
  std::string folder;  ///< of the file; "": in memory
  /// One line for the log; "" where there is nothing to say (no frozen layer, or switched off).
  std::string line;
  plan::FrozenPrefix prefix;
};

/// Throws Error{kUsage} (kMemory where there is too little of it) when the config asks for a cache that cannot be had.
CacheDecision decide_cache(const experiment::ConfigFile& config, const graph::Model& model,
                           const CacheQuestion& question);

/// The inputs of the head: name and shape of what comes over the border.
std::vector<data::FeatureInput> border_inputs(const graph::Graph& graph, const plan::FrozenPrefix& prefix);

/// A data set whose features are wanted: in its own order, and the loader that reads it so.
struct FeatureJob {
  std::shared_ptr<const data::Source> source;
  std::unique_ptr<data::Loader> loader;
};

/// Runs the prefix over the jobs on devices of its own, which are given back afterwards. `go_on` hears after each batch
/// how many samples are done; false stops, and then nothing is returned.
std::optional<std::vector<std::shared_ptr<const data::Source>>> compute_features(
    const experiment::Experiment& experiment, const graph::Model& model, const DeviceRequest& devices,
    const std::shared_ptr<backend::ConvChoices>& conv_choices, const CacheDecision& decision, std::int64_t global_batch,
    std::vector<FeatureJob> jobs, const std::function<bool(std::int64_t done)>& go_on);

}  // namespace dptrain::session
