#pragma once

// What a session is to be made ready for.

#include <cstdint>
#include <optional>
#include <string>

#include "data/source.h"
#include "mpi/processes.h"
#include "session/devices.h"

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

}  // namespace dptrain::session
