#pragma once

// What a sweep has come to: a table for the screen, sweep.csv and sweep.svg, all best first. Pure; any thread.

#include <string>
#include <vector>

#include "plot/chart.h"
#include "sweep/trials.h"

namespace dptrain::sweep {

/// Lines of a table: place, trial, the value of each key, objective and its epoch, epochs, time, and the folder of the
/// run below `shown`, or why there is no value.
std::vector<std::string> table_of(const Sweep& sweep, const std::string& shown);

/// rank,trial,<keys>,<objective>,best_epoch,epochs,seconds,status,reason,run
std::string csv_of(const Sweep& sweep);

/// The objective over each varied key: a mark for each trial, filled where it was trained to the end, hollow where
/// halving has left it behind, a cross where it failed, a ring around the best.
plot::Chart chart_of(const Sweep& sweep, const std::string& name);

/// The place of the best trial; nothing where none has a value.
std::optional<std::size_t> best_of(const Sweep& sweep);

/// "train.optimizer.learning_rate=3e-4 model.layers.hidden.units=64"
std::string values_text(const Plan& plan, const Trial& trial);

}  // namespace dptrain::sweep
