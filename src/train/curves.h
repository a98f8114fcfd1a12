#pragma once

// Learning curves: what train.csv of one or several runs holds, as a chart. `dptrain plot` and every run draw it. Pure
// but for read_run(); any thread.

#include <map>
#include <string>
#include <vector>

#include "nn/resolved_metric.h"
#include "plot/chart.h"

namespace dptrain::train {

/// One run's train.csv.
struct RunCurves {
  std::string name;
  std::vector<std::string> columns;                          ///< in the file's order, "epoch" among them
  std::map<std::string, std::vector<plot::Point>> values{};  ///< by column: x is the epoch; no point for an empty field
  std::map<std::string, nn::Direction> better{};             ///< by column, of those that a metric or loss defines

  nn::Direction direction_of(const std::string& column) const;
};

/// Directions come from result.json, or before a run has ended, and in those of earlier versions, from its config.
/// Throws Error{kData} where there is no train.csv in the folder, or no row in it.
RunCurves read_run(const std::string& folder, const std::string& name);

/// What a picture of these folders is called, and the runs in it: "001", "002" below "fashion-mnist" where they are of
/// one experiment; of several without a title "fashion-mnist/001", "cifar/001".
struct RunNames {
  std::string title;
  std::vector<std::string> runs;
};
RunNames names_of_runs(const std::vector<std::string>& folders);

enum class EpochAxis {
  kEpochs,
  kShare,  ///< percent of each run's own epochs, to compare runs of different length
};

/// A panel for each metric, two in a row, training dashed where there is validation, a ring on each run's best value;
/// then the learning rate, if it changes, and the throughput. `log`: logarithmic metrics; else they are where the
/// values of a loss span decades.
plot::Chart curves_chart(const std::string& title, const std::vector<RunCurves>& runs, bool log,
                         EpochAxis axis = EpochAxis::kEpochs);
/// Whether the runs have different numbers of epochs.
bool differ_in_length(const std::vector<RunCurves>& runs);

}  // namespace dptrain::train
