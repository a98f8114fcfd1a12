#pragma once

// `bench CONFIG --predict 'gpus=8,nodes=64,...'`: predicts steps of more replicas than this machine has
// (bench/prediction.h). The step of one replica is given or measured here. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/prediction.h"
#include "experiment/experiment.h"
#include "session/devices.h"

namespace dptrain::bench {

// Reports of `bench --predict`: tables whose headings state that all values are predicted. Main thread.

/// The cluster of a prediction. Absent values are measured or assumed.
struct PredictionRequest {
  std::optional<int> gpus;                     ///< per node
  std::optional<session::DeviceRequest> cpus;  ///< per process
  std::optional<int> nodes;
  std::optional<int> processes;                  ///< on all nodes
  std::optional<int> cores;                      ///< per node
  std::optional<double> link, inner;             ///< bytes per second, between nodes and within a node
  std::optional<double> latency, inner_latency;  ///< seconds
  std::optional<double> step;                    ///< step time of one replica in seconds
  std::optional<int> batch;                      ///< per replica
  std::optional<SumAlgorithm> algorithm;

  bool on_gpus() const { return gpus.has_value(); }
  /// Number of GPUs or processes.
  int ranks() const;
  int ranks_per_node() const;
};

struct PredictedRow {
  Cluster cluster;
  std::int64_t rows = 0;  ///< samples per replica
  std::int64_t global_batch = 0;
  Prediction predicted{};
  std::optional<double> measured{};  ///< step time in seconds

  int replicas() const { return cluster.ranks * cluster.local_ranks; }
  double examples_per_second() const { return static_cast<double>(global_batch) / predicted.step; }
  /// Predicted time divided by measured time.
  std::optional<double> ratio() const;
};

struct PredictionReport {
  std::string config;
  std::string ranks = "gpus";            ///< "gpus" or "processes"
  std::vector<std::string> assumptions;  ///< sentences on the origin of the numbers
  StepParts parts;                       ///< step of the first row
  std::vector<PredictedRow> rows;        ///< speedup and efficiency are relative to the first
};

/// `columns`: width of the terminal; none: unlimited.
std::string prediction_table(const PredictionReport& report, std::optional<std::size_t> columns = std::nullopt);
std::string prediction_csv(const PredictionReport& report);
std::string prediction_json(const PredictionReport& report);

struct PredictionCall {
  PredictionRequest request;
  std::string config;                ///< path of the config
  bool weak = false;                 ///< the batch of a replica is fixed; `batch=` implies it
  BenchOptions options;              ///< for measurements; the devices are those of the flags
  std::vector<BenchRow> measured{};  ///< rows of --sweep processes, to compare with predictions
};

/// Throws Error{kUsage} for invalid flags or more replicas than samples, Error{kDevice} for a missing device.
PredictionReport predict_steps(const experiment::Experiment& experiment, const PredictionCall& call);

}  // namespace dptrain::bench
