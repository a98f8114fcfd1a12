#pragma once

// `bench --predict 'KEY=VALUE,...'`: the cluster that is asked about. Main thread.

#include <optional>
#include <string>

#include "session/devices.h"
#include "bench/prediction.h"

namespace dptrain::cli {

/// As it was given: what is absent is measured or assumed by the command.
struct PredictionFlags {
  std::optional<int> gpus;                     ///< of a node
  std::optional<session::DeviceRequest> cpus;  ///< of a process
  std::optional<int> nodes;
  std::optional<int> processes;                  ///< of all nodes
  std::optional<int> cores;                      ///< of a node
  std::optional<double> link, inner;             ///< bytes per second, between nodes and within one
  std::optional<double> latency, inner_latency;  ///< seconds
  std::optional<double> step;                    ///< seconds of one replica
  std::optional<int> batch;                      ///< of one replica
  std::optional<session::SumAlgorithm> algorithm;

  bool on_gpus() const { return gpus.has_value(); }
  /// GPUs, or processes.
  int ranks() const;
  int ranks_per_node() const;
};

/// Throws Error{kUsage}: a key that is not known, or there twice; a value without its unit; keys that do not go
/// together.
PredictionFlags parse_prediction(const std::string& text);

}  // namespace dptrain::cli
