#pragma once

// `bench CONFIG --predict 'gpus=8,nodes=64,...'`: steps of more replicas than there are here, on paper
// (session/prediction.h), from a step of one that is given or measured here. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "session/bench.h"
#include "session/prediction.h"

namespace dptrain::cli {

// What `bench --predict` prints and writes: tables whose headings say that nothing of them was measured. Main thread.

struct PredictedRow {
  session::Cluster cluster;
  std::int64_t rows = 0;  ///< of each replica
  std::int64_t global_batch = 0;
  session::Prediction predicted{};
  std::optional<double> measured{};  ///< seconds of a step

  int replicas() const { return cluster.ranks * cluster.lanes; }
  double examples_per_second() const { return static_cast<double>(global_batch) / predicted.step; }
  /// Predicted over measured.
  std::optional<double> ratio() const;
};

struct PredictionReport {
  std::string config;
  std::string ranks = "gpus";            ///< what is counted: "gpus" or "processes"
  std::vector<std::string> assumptions;  ///< sentences: where the numbers come from
  session::StepParts parts;              ///< of the first row
  std::vector<PredictedRow> rows;        ///< the first is that to which speedup and efficiency refer
};

/// `columns`: of the terminal; none: of any width.
std::string prediction_table(const PredictionReport& report, std::optional<std::size_t> columns = std::nullopt);
std::string prediction_csv(const PredictionReport& report);
std::string prediction_json(const PredictionReport& report);

struct PredictionCall {
  std::string text;                           ///< of the flag
  std::string config;                         ///< its path
  bool weak = false;                          ///< the batch of a replica stays; of a given `batch` too
  session::BenchOptions options;              ///< of what is measured; its devices are those of the flags
  std::vector<session::BenchRow> measured{};  ///< rows of --sweep processes, to be set beside what is predicted
};

/// Throws Error{kUsage} for a wrong flag and for more replicas than samples of a batch; Error{kDevice} where what is to
/// be measured is not there.
PredictionReport predict_steps(const experiment::Experiment& experiment, const PredictionCall& call);

}  // namespace dptrain::cli
