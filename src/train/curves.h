#pragma once

// Learning curves: charts of train.csv, for `dptrain plot` and for each run. Pure, except for read_run(); any thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nn/resolved_metric.h"
#include "plot/chart.h"

namespace dptrain::train {

struct RunCurves {
  std::string name;
  std::vector<std::string> columns;                          ///< in the file's order, including "epoch"
  std::map<std::string, std::vector<plot::Point>> values{};  ///< by column; x is the epoch; an empty field has no point
  std::map<std::string, nn::Direction> better{};             ///< by column, for values of metrics and losses

  nn::Direction direction_of(const std::string& column) const;
  /// Points of a column; empty if it is missing.
  const std::vector<plot::Point>& column(const std::string& key) const;
  /// The logged metrics "loss", "accuracy", ..., without "val_".
  std::vector<std::string> metrics() const;
};

/// Index of the best finite point. Nothing if there is no finite point, or if `better` is kUnknown.
std::optional<std::size_t> best_of(const std::vector<plot::Point>& points, nn::Direction better);

/// Reads directions from result.json, or from the config if that has none (a run that has not ended, older versions).
/// Throws Error{kData} if the folder has no train.csv or the file has no row.
RunCurves read_run(const std::string& folder, const std::string& name);

/// The title of a chart and the names of its runs: "fashion-mnist" with "001", "002" for one experiment; for several,
/// no title and "fashion-mnist/001", "cifar/001".
struct RunNames {
  std::string title;
  std::vector<std::string> runs;
};
RunNames names_of_runs(const std::vector<std::string>& folders);

enum class EpochAxis {
  kEpochs,
  kShare,  ///< percent of each run's own epochs, to compare runs of different length
};

/// A panel per metric: training dashed if there is validation, a ring at each run's best value; then the learning rate,
/// if it changes, and the throughput. `log` makes metrics logarithmic; a loss that spans decades always is.
plot::Chart curves_chart(const std::string& title, const std::vector<RunCurves>& runs, bool log,
                         EpochAxis axis = EpochAxis::kEpochs);
bool differ_in_length(const std::vector<RunCurves>& runs);

}  // namespace dptrain::train
