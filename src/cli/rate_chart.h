#pragma once

// `dptrain summary --plot-schedule`: the learning rate over the training. Main thread.

#include "experiment/experiment.h"
#include "plot/chart.h"
#include "session/devices.h"

namespace dptrain::cli {

/// The rate at every step; opens the data to count steps. Throws Error{kUsage} for a config without a section train.
plot::Chart rate_chart(const experiment::Experiment& experiment, const session::DeviceRequest& devices);

/// The chart of given rates, at evenly spread steps of `steps`.
plot::Chart rate_chart(const std::string& name, const std::vector<plot::Point>& rates, std::int64_t steps,
                       std::int64_t steps_per_epoch);

}  // namespace dptrain::cli
