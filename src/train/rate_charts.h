#pragma once

// Charts of learning rates: a schedule over the training (`dptrain summary --plot-schedule`) and the range test
// (`dptrain fit --find-lr`). Main thread.

#include "experiment/experiment.h"
#include "plot/chart.h"
#include "session/devices.h"
#include "train/rate_test.h"

namespace dptrain::train {

/// The rate at every step; opens the data to count steps. Throws Error{kUsage} for a config without a section train.
plot::Chart rate_chart(const experiment::Experiment& experiment, const session::DeviceRequest& devices);

/// The chart of given rates, at evenly spread steps of `steps`.
plot::Chart rate_chart(const std::string& name, const std::vector<plot::Point>& rates, std::int64_t steps,
                       std::int64_t steps_per_epoch);

/// Loss over the learning rate, with a ring at the suggestion.
plot::Chart rate_test_chart(const std::string& name, const RateCurve& curve);

}  // namespace dptrain::train
