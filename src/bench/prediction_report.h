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
  std::optional<int> gpus;                     ///< of a node
  std::optional<session::DeviceRequest> cpus;  ///< of a process
  std::optional<int> nodes;
  std::optional<int> processes;                  ///< of all nodes
  std::optional<int> cores;                      ///< of a node
  std::optional<double> link, inner;             ///< bytes per second, between nodes and within one
  std::optional<double> latency, inner_latency;  ///< seconds
  std::optional<double> step;                    ///< seconds of one replica
  std::optional<int> batch;                      ///< of one replica
  std::optional<SumAlgorithm> algorithm;

  bool on_gpus() const { return gpus.has_value(); }
  /// GPUs, or processes.
  int ranks() const;
  int ranks_per_node() const;
};

struct PredictedRow {
  Cluster cluster;
  std::int64_t rows = 0;  ///< samples of one replica
  std::int64_t global_batch = 0;
  Prediction predicted{};
  std::optional<double> measured{};  ///< seconds of a step

  int replicas() const { return cluster.ranks * cluster.lanes; }
  double examples_per_second() const { return static_cast<double>(global_batch) / predicted.step; }
  /// Predicted over measured.
  std::optional<double> ratio() const;
};

struct PredictionReport {
  std::string config;
  std::string ranks = "gpus";            ///< "gpus" or "processes"
  std::vector<std::string> assumptions;  ///< sentences on the origin of the numbers
  StepParts parts;                       ///< step of the first row
  std::vector<PredictedRow> rows;        ///< speedup and efficiency are relative to the first
};

/// `columns`: width of the terminal; none: any width.
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

/// Throws Error{kUsage} for a wrong flag and for more replicas than samples of a batch; Error{kDevice} if a device to
/// measure is missing.
PredictionReport predict_steps(const experiment::Experiment& experiment, const PredictionCall& call);

}  // namespace dptrain::bench
