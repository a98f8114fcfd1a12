#pragma once

// Sweep results: a table, sweep.csv and sweep.svg, all best first. Pure; any thread.

#include <string>
#include <vector>

#include "plot/chart.h"
#include "sweep/trials.h"

namespace dptrain::sweep {

/// Lines of a table: rank, trial, value of each key, objective, best epoch, epochs, time, and the run's folder in
/// `shown` or why there is no value.
std::vector<std::string> table_of(const Sweep& sweep, const std::string& shown);

/// rank,trial,<keys>,<objective>,best_epoch,epochs,seconds,status,reason,run
std::string csv_of(const Sweep& sweep);

/// The objective over each varied key, with a mark for each trial: filled if trained to the end, hollow if dropped by
/// halving, a cross if failed. A ring marks the best.
plot::Chart chart_of(const Sweep& sweep, const std::string& name);

/// Index of the best trial; nothing if no trial has a value.
std::optional<std::size_t> best_of(const Sweep& sweep);

/// "train.optimizer.learning_rate=3e-4 model.layers.hidden.units=64"
std::string values_text(const Plan& plan, const Trial& trial);

}  // namespace dptrain::sweep
